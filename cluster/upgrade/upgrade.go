// Package upgrade upgrades a cluster to another bundle, and rolls that back.
package upgrade

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/clusterlock"
	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/stop"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/pki"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/verify/result"
)

// Options are the flags of airgap upgrade.
type Options struct {
	Dir             string   // the bundle's
	Keys            []string // of --require-key
	Skip            []string // preflight checks and rules of verify
	NoSSH           bool
	TakeOver        bool          // run on another control-plane host than the first
	WithoutRollback bool          // upgrade even if a rollback is impossible
	DrainTimeout    time.Duration // to drain one host
	Timeout         time.Duration // until the cluster is healthy, before the first host and after each
	Pace            Pace
	Console         ui.Console
}

// upgrade is one run of airgap upgrade on the first control-plane host.
type upgrade struct {
	rollout
	skip       []string   // preflight checks
	noRollback bool       // upgrade even if a rollback is impossible
	old        *site.Site // of the installed bundle
	release    func()     // releases the host's lock
}

// Result is the result on stdout.
type Result struct {
	From      upgraderecord.BundleRef `json:"from"`
	To        upgraderecord.BundleRef `json:"to"`
	Changed   int                     `json:"changed"`          // steps that ran
	Unchanged int                     `json:"unchanged"`        // steps that had nothing to do
	Left      *Left                   `json:"left,omitempty"`   // hosts for a later run; nil if the upgrade is finished
	Owed      []string                `json:"owed,omitempty"`   // workers that the upgrade left out
	Failed    []fleet.LeftOut         `json:"failed,omitempty"` // workers that failed while the upgrade went on
	Report    *result.Report          `json:"report,omitempty"` // of the verification, if it failed
	// Elsewhere are the findings that did not stop the upgrade.
	Elsewhere  []upgraderecord.Elsewhere `json:"elsewhere,omitempty"`
	unfinished bool
}

// Began reports whether the upgrade has begun to change hosts.
func (r Result) Began() bool { return r.To.ID != "" }

// Run upgrades the cluster to the bundle in the directory.
func Run(ctx context.Context, o Options) (Result, error) {
	u, err := begin(ctx, o)
	if err != nil {
		return Result{}, err
	}
	defer u.close()
	return clusterlock.During(ctx, u.command("airgap upgrade", o.Console), func(ctx context.Context) (Result, error) { return u.whole(ctx, o) })
}

// whole upgrades the cluster while this host has its lock and the cluster's.
func (u *upgrade) whole(ctx context.Context, o Options) (Result, error) {
	if err := u.connect(ctx, o); err != nil {
		return Result{}, err
	}
	if err := repairTorn(ctx, u.site, u.p); err != nil {
		return Result{}, err
	}
	if err := u.check(ctx); err != nil {
		return Result{}, err
	}
	if err := withoutFailed(&u.rollout); err != nil {
		return Result{}, err
	}
	result, err := u.run(ctx)
	left, err := u.ended(err)
	u.shareDebts(ctx)
	if err != nil {
		err = withRollbackHint(advice.Add(err, "fix the error and run the same command again: completed steps do not run again"))
	}
	return u.result(result, left, err)
}

// result is the result of a run: also of one that failed, because it has changed hosts.
func (u *upgrade) result(steps step.Result, left *Left, failed error) (Result, error) {
	elsewhere, err := u.findings.Elsewhere()
	done := Result{
		From: u.record.From, To: u.record.To, Changed: steps.Changed, Unchanged: steps.Unchanged, Left: left,
		Owed: u.pace.owed, Failed: u.pace.failed, Report: verification.ReportIn(failed), Elsewhere: elsewhere, unfinished: failed != nil,
	}
	return done, errors.Join(failed, err)
}

// DryRun runs the checks of Run, and returns its plan.
func DryRun(ctx context.Context, o Options) (Plan, error) {
	u, err := begin(ctx, o)
	if err != nil {
		return Plan{}, err
	}
	defer u.close()
	if err := u.connect(ctx, o); err != nil {
		return Plan{}, err
	}
	if err := u.check(ctx); err != nil {
		return Plan{}, err
	}
	p := u.plan()
	p.perStep, err = earlierTimes(u.journal)
	return p, err
}

// begin opens the bundles and takes the host's lock. The caller must close the result.
func begin(ctx context.Context, o Options) (_ *upgrade, err error) {
	if err := hostcheck.MustBeInstalled("upgrade"); err != nil {
		return nil, err
	}
	skip, rules, err := verification.SplitSkip(o.Skip)
	if err != nil {
		return nil, err
	}
	u := &upgrade{skip: skip, noRollback: o.WithoutRollback, release: func() {}}
	if err := u.pace.set("upgrade", o.Pace, o.Console); err != nil {
		return nil, err
	}
	if err := pki.RefuseDuringCARotation(site.ThisMachine().Machine, "upgrade"); err != nil {
		return nil, err
	}
	v, t, err := site.OpenWhole(o.Dir, o.Keys)
	if err != nil {
		return nil, err
	}
	site.WarnOfAltered(v.Top(), o.Console.Progress().Say)
	u.doneWorkers, u.debts, u.findings = upgraderecord.WorkersOf(), owed.Record, upgraderecord.Findings()
	u.limits, u.view, u.trusted, u.journal = limits{rules, o.DrainTimeout, o.Timeout}, v, t.Keys, step.OpenJournal(site.JournalFile)
	defer func() {
		if err != nil {
			u.close()
		}
	}()
	if u.release, err = hostcheck.LockHost(); err != nil {
		u.release = func() {}
		return nil, err
	}
	if err := u.open(ctx, t, o); err != nil {
		return nil, err
	}
	return u, u.pace.choose(u.site.Config.Nodes)
}

// connect logs in to the other hosts.
func (u *upgrade) connect(ctx context.Context, o Options) (err error) {
	if u.fleet, err = fleet.Connect(ctx, u.site, u.view.Top(), u.pace.reaching(o.Console, u.skip, o.NoSSH)); err != nil {
		return err
	}
	u.reach(u.fleet)
	u.p = u.pace.progress(o.Console)
	return nil
}

func (u *upgrade) close() {
	u.pace.end()
	u.fleet.Close()
	u.release()
	u.view.Close()
}

// rollbackHint ends the hint for an upgrade that failed.
const rollbackHint = "or roll back the upgrade: airgap rollback"

// withRollbackHint adds the rollback to the hint of an upgrade that failed.
func withRollbackHint(err error) error {
	next := advice.Of(err)
	if strings.Contains(next, rollbackHint) || errors.Is(err, stop.ErrInterrupted) {
		return err
	}
	return advice.Replace(err, "%s; %s", next, rollbackHint)
}

func (r Result) Write(w io.Writer) error {
	if r.Left != nil {
		return r.Left.write(w)
	}
	fleet.WriteLeftOut(w, r.Failed)
	if len(r.Owed) > 0 {
		fmt.Fprintf(w, "left out and owed: %s; run the same command again to upgrade them\n", hostrange.Join(r.Owed))
	}
	if r.unfinished {
		fmt.Fprintf(w, "the upgrade from Kubernetes %s to %s is not finished (%d steps ran, %d were up to date)\n", r.From.Kubernetes, r.To.Kubernetes, r.Changed, r.Unchanged)
		return writeElsewhere(w, r.Elsewhere)
	}
	if r.Changed == 0 {
		_, err := fmt.Fprintf(w, "nothing to do: the cluster already runs bundle %s with Kubernetes %s\n", r.To.Name, r.To.Kubernetes)
		return err
	}
	fmt.Fprintf(w, "upgraded from Kubernetes %s to %s and verified (%d steps ran, %d were up to date)\n", r.From.Kubernetes, r.To.Kubernetes, r.Changed, r.Unchanged)
	return writeElsewhere(w, r.Elsewhere)
}

// open finds the installed bundle, and returns an error on a wrong host.
func (u *upgrade) open(ctx context.Context, t *site.Trust, o Options) error {
	index := u.view.Top().Index()
	s, err := site.Fresh(index, "")
	if err != nil {
		return err
	}
	if s, err = leading(ctx, s.With(site.Given{Required: t.Required}), o.TakeOver); err != nil {
		return err
	}
	u.site, u.target = s, index.ID()
	joined, err := s.Machine.Joined()
	if err != nil {
		return err
	}
	if !joined {
		return advice.Add(errors.New("upgrade the cluster: this host is not in a cluster"), "install a cluster: airgap install %s", ui.Quote(u.view.Top().Dir()))
	}
	if u.record, err = adoptRecord(ctx, s, ui.Teller(o.Console)); err != nil {
		return err
	}
	if err := u.record.RefuseDuringRollback(); err != nil {
		return err
	}
	if u.record.InProgress() && u.record.To.ID != u.target {
		return advice.Add(fmt.Errorf("the upgrade to bundle %s (Kubernetes %s), which started on %s, is not finished", u.record.To.Name, u.record.To.Kubernetes, u.record.Began.Local().Format(time.DateTime)),
			"finish it with airgap upgrade and that bundle, or roll it back with airgap rollback")
	}
	if err := u.openInstalled(ctx); err != nil || u.record.Changed {
		return err
	}
	return refuseNewerInStore(u.site.Store, u.trusted, u.site.Index)
}

// refuseNewerInStore returns an error if the store contains a bundle that is newer than next: hosts would
// install from that one.
func refuseNewerInStore(store registry.Store, trusted []*ecdsa.PublicKey, next *bundle.Index) error {
	bundles, err := store.Open(trusted...)
	defer bundle.NewView(bundles...).Close()
	for _, b := range bundles {
		if b.ID() != next.ID() && b.Index().Created.After(next.Created) {
			return advice.Add(fmt.Errorf("bundle %s, which was only imported, is newer than this bundle: airgap uses the newest bundle in %s", site.NameInStore(b), store.Dir),
				"remove it on each control-plane host that has it: airgap registry prune %s --drop-tags; or upgrade to that bundle, or create this bundle again", site.NameInStore(b))
		}
	}
	if len(bundles) > 0 {
		err = nil // ignore other bundles that cannot be read
	}
	return err
}

// openInstalled finds the installed bundle: the one that the upgrade in progress started from, otherwise
// the one in the records of this host.
func (u *upgrade) openInstalled(ctx context.Context) error {
	var index *bundle.Index
	var err error
	if u.record.InProgress() {
		index, err = site.StoredIndex(u.site.Store, u.trusted, func(i *bundle.Index) bool { return i.ID() == u.record.From.ID })
	} else {
		index, err = u.site.InstalledIndex(ctx, u.trusted)
	}
	if err != nil {
		return err
	}
	if u.old, err = site.New(index, u.site.Node.Name); err != nil {
		return err
	}
	if u.record.InProgress() || index.ID() == u.target && u.record.To.ID == u.target && u.record.RolledBack.IsZero() {
		return nil // it continues, or is finished
	}
	if index.ID() != u.target {
		if err := newerThan(u.site.Index, index); err != nil {
			return err
		}
	}
	u.record, err = upgraderecord.New(index, u.site.Index)
	return err
}

// newerThan returns an error if next is not newer than the installed bundle: the newest bundle in a store
// counts for dnf, for tags and for hosts that join.
func newerThan(next, now *bundle.Index) error {
	if next.Created.After(now.Created) {
		return nil
	}
	const stamp = "2006-01-02 15:04:05 MST"
	return advice.Add(fmt.Errorf("bundle %s was created %s, and the installed bundle %s: airgap uses the newest bundle", next.Name, next.Created.Format(stamp), now.Created.Format(stamp)),
		"create the bundle again from its airgap.yaml and airgap.lock; to roll back the last upgrade, use airgap rollback")
}

// others returns the nodes except the first control-plane host and those that the run leaves out: the control-plane
// hosts, then the workers.
func (u *upgrade) others() []config.Node {
	var controlPlanes, workers []config.Node
	for _, n := range u.pace.works(u.site.Config.Nodes) {
		_, joined := u.nodes[n.Name]
		switch {
		case n.Name == u.site.Node.Name || !joined || n.Absent != nil:
		case n.Has(config.ControlPlane):
			controlPlanes = append(controlPlanes, n)
		default:
			workers = append(workers, n)
		}
	}
	return append(controlPlanes, workers...)
}

func (u *upgrade) run(ctx context.Context) (step.Result, error) {
	steps, err := u.steps(ctx)
	if err != nil {
		return step.Result{}, err
	}
	compared, err := u.compared()
	if err != nil {
		return step.Result{}, err
	}
	if err := u.oweLeftOut(func(name string) bool { return u.was(name, compared) }); err != nil {
		return step.Result{}, err
	}
	defer u.pace.end()
	u.shareDebts(ctx)
	defer u.shareDebts(ctx)
	return journal.Run(ctx, steps, u.p)
}
