// Package upgrade brings a cluster to another bundle, and takes that back.
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
	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/pki"
	"airgap.dev/airgap/registry"
)

// Options are those of airgap upgrade.
type Options struct {
	Dir          string   // the bundle's
	Keys         []string // of --require-key
	Skip         []string // preflight checks and rules of verify
	NoSSH        bool
	NoWayBack    bool          // go on where a rollback is not possible
	DrainTimeout time.Duration // for the pods of one host to leave it
	Timeout      time.Duration // for the cluster to be well: before the first host, and after each
	Console      ui.Console
}

// upgrade is one at work, on the first control-plane host.
type upgrade struct {
	rollout
	skip      []string   // preflight checks
	noWayBack bool       // it goes on where a rollback is not possible
	old       *site.Site // as the cluster is
	release   func()     // the host's lock
}

// Result is the result on stdout.
type Result struct {
	From      upgraderecord.BundleRef `json:"from"`
	To        upgraderecord.BundleRef `json:"to"`
	Changed   int                     `json:"changed"`   // steps that ran
	Unchanged int                     `json:"unchanged"` // steps whose result held already
}

// Run brings the cluster to the bundle in the directory.
func Run(ctx context.Context, o Options) (Result, error) {
	u, err := begin(ctx, o)
	if err != nil {
		return Result{}, err
	}
	defer u.close()
	if err := mendTorn(ctx, u.site, u.p); err != nil {
		return Result{}, err
	}
	if err := u.check(ctx); err != nil {
		return Result{}, err
	}
	result, err := u.run(ctx)
	if err != nil {
		return Result{}, orBack(advice.Add(err, "mend it and run the same command again: finished steps are not repeated"))
	}
	return Result{u.record.From, u.record.To, result.Changed, result.Unchanged}, nil
}

// Rehearse checks what Run checks, and says what it would do.
func Rehearse(ctx context.Context, o Options) (Plan, error) {
	u, err := begin(ctx, o)
	if err != nil {
		return Plan{}, err
	}
	defer u.close()
	if err := u.check(ctx); err != nil {
		return Plan{}, err
	}
	return u.plan(), nil
}

// begin finds out what is to be upgraded from, takes the host's lock and logs in on the
// other hosts. The caller closes it.
func begin(ctx context.Context, o Options) (_ *upgrade, err error) {
	if err := hostcheck.MustBeRoot("upgrade"); err != nil {
		return nil, err
	}
	skip, rules, err := verdict.SplitSkip(o.Skip)
	if err != nil {
		return nil, err
	}
	if err := pki.RefuseAmidReplacement(site.ThisMachine().Machine, "upgrade"); err != nil {
		return nil, err
	}
	v, t, err := site.OpenWhole(o.Dir, o.Keys)
	if err != nil {
		return nil, err
	}
	u := &upgrade{
		rollout: rollout{pace: pace{rules, o.DrainTimeout, o.Timeout}, view: v, trusted: t.Keys, journal: step.OpenJournal(site.JournalFile)},
		skip:    skip, noWayBack: o.NoWayBack, release: func() {},
	}
	defer func() {
		if err != nil {
			u.close()
		}
	}()
	if err := u.open(ctx, t); err != nil {
		return nil, err
	}
	if u.release, err = hostcheck.LockHost(); err != nil {
		u.release = func() {}
		return nil, err
	}
	if u.fleet, err = fleet.Connect(ctx, u.site, v.Top(), fleet.Options{Console: o.Console, Skip: skip, NoSSH: o.NoSSH}); err != nil {
		return nil, err
	}
	u.fleet.AwaitBusy()
	u.p = o.Console.Progress()
	return u, nil
}

func (u *upgrade) close() {
	u.fleet.Close()
	u.release()
	u.view.Close()
}

// orBack adds the way back to whatever else is to be done about an upgrade that failed.
func orBack(err error) error {
	const back = "airgap rollback takes the upgrade back"
	next := advice.Of(err)
	if strings.Contains(next, back) {
		return err
	}
	return advice.Replace(err, "%s. %s", next, back)
}

func (r Result) Write(w io.Writer) error {
	if r.Changed == 0 {
		_, err := fmt.Fprintf(w, "nothing to do: the cluster is as bundle %s has it, with Kubernetes %s\n", r.To.Name, r.To.Kubernetes)
		return err
	}
	_, err := fmt.Fprintf(w, "upgraded from Kubernetes %s to %s and verified (%d steps ran, %d held already)\n", r.From.Kubernetes, r.To.Kubernetes, r.Changed, r.Unchanged)
	return err
}

// open finds out what is to be upgraded from, and whether this is the host to do it.
func (u *upgrade) open(ctx context.Context, t *site.Trust) error {
	index := u.view.Top().Index()
	s, err := site.Fresh(index, "")
	if err != nil {
		return err
	}
	s = s.With(site.Given{Required: t.Required})
	u.site, u.target = s, index.ID()
	if first := s.Config.Master(); s.Node.Name != first.Name {
		return advice.Add(fmt.Errorf("upgrade on %s: the first control-plane host does it, %s", s.Node.Name, first.Name), "run the same command there")
	}
	joined, err := s.Machine.Joined()
	if err != nil {
		return err
	}
	if !joined {
		return advice.Add(errors.New("upgrade the cluster: this host is not in one"), "airgap install %s sets one up", u.view.Top().Dir())
	}
	if u.record, err = upgraderecord.Read(); err != nil {
		return err
	}
	if err := u.record.RefuseAmidRollback(); err != nil {
		return err
	}
	if u.record.Under() && u.record.To.ID != u.target {
		return advice.Add(fmt.Errorf("an upgrade to bundle %s (Kubernetes %s) has begun on %s, and not ended", u.record.To.Name, u.record.To.Kubernetes, u.record.Began.Local().Format(time.DateTime)),
			"end it by airgap upgrade with that bundle, or take it back by airgap rollback")
	}
	if err := u.openOld(ctx); err != nil || u.record.Changed {
		return err
	}
	return newestIn(u.site.Store, u.trusted, u.site.Index)
}

// newestIn refuses a bundle beside one in the store that was made later, whoever brought
// that: it would be installed from instead.
func newestIn(store registry.Store, trusted []*ecdsa.PublicKey, next *bundle.Index) error {
	bundles, err := store.Open(trusted...)
	defer bundle.NewView(bundles...).Close()
	for _, b := range bundles {
		if b.ID() != next.ID() && b.Index().Created.After(next.Created) {
			return advice.Add(fmt.Errorf("bundle %s, which was only imported, was made later than this one: of those in %s the newest counts", site.NameInStore(b), store.Dir),
				"airgap registry prune %s --drop-tags, on each control-plane host that has it, lets it go; or upgrade to that one, or make this one anew", site.NameInStore(b))
		}
	}
	if len(bundles) > 0 {
		err = nil // another one that cannot be read is not of interest
	}
	return err
}

// openOld finds the bundle that the cluster is as: what the upgrade that is under way
// began from, else what this host says of itself.
func (u *upgrade) openOld(ctx context.Context) error {
	var index *bundle.Index
	var err error
	if u.record.Under() {
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
	if u.record.Under() || index.ID() == u.target && u.record.To.ID == u.target && u.record.RolledBack.IsZero() {
		return nil // it goes on, or has come to its end
	}
	if index.ID() != u.target {
		if err := newerThan(u.site.Index, index); err != nil {
			return err
		}
	}
	u.record, err = upgraderecord.New(index, u.site.Index)
	return err
}

// newerThan refuses a bundle that was made before the one that the cluster is as: of those in
// a store the newest counts, for dnf, for tags and for hosts that join.
func newerThan(next, now *bundle.Index) error {
	if next.Created.After(now.Created) {
		return nil
	}
	const stamp = "2006-01-02 15:04:05 MST"
	return advice.Add(fmt.Errorf("bundle %s was made %s, and the one that the cluster is as %s: the newest counts", next.Name, next.Created.Format(stamp), now.Created.Format(stamp)),
		"make the bundle anew of that airgap.yaml and its airgap.lock; or airgap rollback, if it was the last upgrade that is to be taken back")
}

// others returns the nodes beside the first control-plane host, in the order of an
// upgrade.
func (u *upgrade) others() []config.Node {
	var masters, workers []config.Node
	for _, n := range u.site.Config.Nodes {
		_, there := u.nodes[n.Name]
		switch {
		case n.Name == u.site.Node.Name || !there:
		case n.Has(config.ControlPlane):
			masters = append(masters, n)
		default:
			workers = append(workers, n)
		}
	}
	return append(masters, workers...)
}

func (u *upgrade) run(ctx context.Context) (step.Result, error) {
	steps, err := u.steps(ctx)
	if err != nil {
		return step.Result{}, err
	}
	return journal.Run(ctx, steps, u.p)
}

// Plan is what an upgrade would do, in which order.
type Plan struct {
	upgraderecord.Record
	order   []string // of the hosts
	wayBack string
	changed string // what the rehearsal itself has changed
}

func (p Plan) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "every check passes; Kubernetes %s → %s, one host after the other: %s\n%s\n%s\n",
		p.From.Kubernetes, p.To.Kubernetes, strings.Join(p.order, ", "), p.wayBack, p.changed)
	return err
}

func (u *upgrade) plan() Plan {
	p := Plan{Record: u.record, wayBack: u.wayBack(), changed: "nothing was changed"}
	if u.fleet != nil { // it is their own program that judges them
		p.changed += ", but that the other hosts have this bundle's airgap.rpm now"
	}
	for _, n := range append([]config.Node{u.site.Node}, u.others()...) {
		p.order = append(p.order, n.Name)
	}
	return p
}
