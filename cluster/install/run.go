package install

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/clusterlock"
	"airgap.dev/airgap/cluster/dryrun"
	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/pki"
	"airgap.dev/airgap/verify/result"
)

// Options has the options of airgap install.
type Options struct {
	Dir     string        // the bundle's
	Keys    []string      // of --require-key
	Skip    []string      // preflight checks; also rules of verify
	Node    string        // which of airgap.yaml this host is; "": by its addresses
	NoSSH   bool          // leave the other hosts to airgap join
	InPlace bool          // serve the bundle from dir
	Timeout time.Duration // for the cluster to be well at the end
	Console ui.Console
	Choice  choice.Choice // of the other hosts

	AllHosts bool // DryRun asks the other hosts, too
}

// Result is the result of an installation.
type Result struct {
	Node      string         `json:"node"`
	Changed   int            `json:"changed"`   // steps that ran
	Unchanged int            `json:"unchanged"` // steps that were up to date
	Join      []join.Line    `json:"join,omitempty"`
	Hosts     []fleet.Joined `json:"hosts,omitempty"`     // the other hosts, if they joined through SSH
	Again     *join.Again    `json:"again,omitempty"`     // nodes that must join again to get the changes
	BackupKey string         `json:"backupKey,omitempty"` // fingerprint of the key that this host signs its backups with

	LeftOut  []fleet.LeftOut `json:"leftOut,omitempty"`
	Report   *result.Report  `json:"report,omitempty"` // of the verification, if it failed
	verified bool
}

// installation is one that may begin: its host is the first one, and in no other cluster.
type installation struct {
	options Options
	site    *site.Site
	view    *bundle.View
	trusted []*ecdsa.PublicKey
}

// Run makes this host the first control-plane host, and the others nodes where they are
// reached through SSH. Where some of those did not join, there are a result and an error.
func Run(ctx context.Context, o Options) (Result, error) {
	i, release, err := beginAlone(ctx, o)
	if err != nil {
		return Result{}, err
	}
	defer i.view.Close()
	defer release()
	return clusterlock.During(ctx, clusterlock.Command{Machine: i.site.Machine.Machine, Name: "airgap install", Node: i.site.Node.Name, Say: ui.Teller(o.Console)}, i.run)
}

// run installs while this host has its lock and the cluster's.
func (i *installation) run(ctx context.Context) (Result, error) {
	o := i.options
	options := fleet.Options{Console: o.Console, Skip: o.Skip, NoSSH: o.NoSSH, Choice: o.Choice, Choosable: true, Tolerant: true}
	f, err := fleet.Connect(ctx, i.site, i.view.Top(), options)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	f.AwaitBusy()
	p := o.Console.Progress()
	if i.site, err = Gate(ctx, i.site, o.Skip, i.view, i.trusted, f, p); err != nil {
		return Result{}, err
	}
	steps, err := Steps(i.site, i.view, i.trusted, p)
	if err != nil {
		return Result{}, err
	}
	done, err := journal.Run(ctx, f.MeasuringAgain(steps, p), p)
	if err != nil {
		return Result{}, advice.Add(err, "fix the error and run the same command again: completed steps do not run again")
	}
	if f != nil {
		return i.finishFleet(ctx, f, done, p)
	}
	return i.finish(ctx, done, p)
}

// beginAlone calls begin and locks this host. If an earlier run of install still works on it, it waits for its end, and
// calls begin again: that run has changed the host.
func beginAlone(ctx context.Context, o Options) (*installation, func(), error) {
	for {
		i, err := begin(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		release, waited, err := hostcheck.AwaitLock(ctx, "install", o.Console.Progress())
		o.Console.EndProgress()
		if err == nil && !waited {
			return i, release, nil
		}
		i.view.Close()
		if err != nil {
			return nil, nil, err
		}
		release()
	}
}

// begin finds out whether this is the host and the bundle to install. The caller closes
// the view.
func begin(ctx context.Context, o Options) (_ *installation, err error) {
	if err := hostcheck.MustBeRoot("install"); err != nil {
		return nil, err
	}
	v, t, err := site.OpenWhole(o.Dir, o.Keys)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			v.Close()
		}
	}()
	site.WarnOfAltered(v.Top(), o.Console.Progress().Say)
	s, err := site.Fresh(v.Top().Index(), o.Node)
	if err != nil {
		return nil, err
	}
	s = s.With(site.Given{Required: t.Required, InPlace: o.InPlace, Medium: host.DevicesOf(o.Dir)})
	if s, err = join.OfThisCluster(ctx, s); err != nil {
		return nil, err
	}
	if err := isFirst(s); err != nil {
		return nil, err
	}
	if err := fleet.CheckChoice(ctx, s, o.Choice, o.NoSSH); err != nil {
		return nil, err
	}
	if err := errors.Join(pki.RefuseDuringCARotation(s.Machine.Machine, "install"), RefuseUpgrade(ctx, s, o.Dir)); err != nil {
		return nil, err
	}
	if s, err = hostcheck.AsMeasured(ctx, s, o.NoSSH, site.MeasuredFile); err != nil {
		return nil, err
	}
	return &installation{o, s, v, t.Keys}, nil
}

// DryRun returns the changes that Run would make, for each host.
func DryRun(ctx context.Context, o Options) (dryrun.Plan, error) {
	i, err := begin(ctx, o)
	if err != nil {
		return dryrun.Plan{}, err
	}
	defer i.view.Close()
	stored, err := i.site.InStore(i.view, i.trusted)
	if err != nil {
		return dryrun.Plan{}, err
	}
	plan, err := dryrun.Run(ctx, i.site, o.Console, dryrun.Command{
		Command: "install", Skip: o.Skip, Stored: stored, Packages: nodesteps.DryRunFrom(i.site, i.view),
		Steps:  func() ([]step.Step, error) { return Steps(i.site, i.view, i.trusted, ui.Discard()) },
		Others: otherHosts(i.site, o.Choice, i.view, i.trusted),
	})
	if err == nil && o.AllHosts {
		o.Console.EndProgress()
		err = i.askOthers(ctx, plan.Hosts[1:])
	}
	return plan, err
}

// Gate runs the checks and returns an error unless all of them pass. It returns the site
// with the measurements between the hosts.
func Gate(ctx context.Context, s *site.Site, skip []string, v *bundle.View, trusted []*ecdsa.PublicKey, f *fleet.Fleet, p ui.Progress) (*site.Site, error) {
	stored, err := s.InStore(v, trusted)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return s, hostcheck.Pass(ctx, s, skip, stored, nodesteps.DryRunFrom(s, v), p)
	}
	own, err := hostcheck.JudgeAtRest(ctx, s, skip, stored, nodesteps.DryRunFrom(s, v), p)
	if err != nil {
		return nil, err
	}
	return f.Gate(ctx, own, p)
}

// finish verifies the cluster and returns the join commands of the other hosts. The
// code is made only when something changed: a run that changes nothing leaves
// the cluster as it was, too.
func (i *installation) finish(ctx context.Context, done step.Result, p ui.Progress) (Result, error) {
	s := i.site
	result := i.resultOf(done)
	judged := i.judged(nil)
	judged.JoinedOnly = true
	err := verification.OfSite(ctx, s, judged, p)
	if err != nil {
		return result.judgedBy(err, nil)
	}
	result.verified = true
	if result.Join, err = join.Lines(ctx, s, done.Changed > 0, p.Say); err != nil {
		return Result{}, err
	}
	if done.Changed > 0 {
		if result.Again, err = join.AgainSteps(ctx, s); err != nil {
			return Result{}, err
		}
	}
	return result, nil
}

// finishFleet joins the other hosts and verifies the whole cluster. When one of
// them did not join, the result says how far each came, and there is no verdict.
func (i *installation) finishFleet(ctx context.Context, f *fleet.Fleet, done step.Result, p ui.Progress) (Result, error) {
	s := i.site
	result := i.resultOf(done)
	result.Hosts = f.Join(ctx, p)
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	left := f.Policy.Settle(ctx, owed.Record, owed.Join, "did not join", "fix the error and run the same command again: completed steps do not run again; "+site.HostLogDir+" has the full output")
	result.LeftOut = f.Policy.LeftOut()
	if _, goOn := errors.AsType[*fleet.IncompleteError](left); left != nil && !goOn {
		return result, left
	}
	if err := f.StillClosed(ctx, p); err != nil {
		return result, errors.Join(err, left)
	}
	return result.judgedBy(verification.OfSite(ctx, s, i.judged(result.LeftOut), p), left)
}

// resultOf is the result of the steps on this host.
func (i *installation) resultOf(done step.Result) Result {
	return Result{Node: i.site.Node.Name, Changed: done.Changed, Unchanged: done.Unchanged, BackupKey: site.BackupKey()}
}

// judged are the options of the verification at the end. A node that is left out may be not Ready.
func (i *installation) judged(leftOut []fleet.LeftOut) verification.Options {
	o := verification.Options{Kubeconfig: kube.AdminConf, SystemOnly: true, Skip: i.options.Skip, Timeout: i.options.Timeout}
	for _, l := range leftOut {
		o.LeftOut = append(o.LeftOut, l.Node)
	}
	return o
}

// judgedBy adds the verdict of the verification. left is the error about hosts that are left out.
func (r Result) judgedBy(verdict, left error) (Result, error) {
	r.Report, r.verified = verification.ReportIn(verdict), verdict == nil
	return r, errors.Join(verdict, left)
}

// Write says it in words.
func (r Result) Write(w io.Writer) error {
	if len(r.Hosts)+len(r.LeftOut) > 0 {
		return r.writeCluster(w)
	}
	if !r.verified {
		_, err := fmt.Fprintf(w, "%s: installed (%d steps ran, %d were up to date), and not verified\n", r.Node, r.Changed, r.Unchanged)
		site.WriteBackupKey(w, r.Node, r.BackupKey)
		return err
	}
	if r.Changed == 0 {
		fmt.Fprintf(w, "%s: nothing to do, all %d steps are up to date; the cluster is verified\n", r.Node, r.Unchanged)
	} else {
		fmt.Fprintf(w, "%s: installed and verified (%d steps ran, %d were up to date)\n", r.Node, r.Changed, r.Unchanged)
		site.WriteBackupKey(w, r.Node, r.BackupKey)
	}
	return errors.Join(join.WriteLines(w, r.Join), r.Again.Write(w))
}

func (r Result) writeCluster(w io.Writer) error {
	hosts := []fleet.Joined{{Node: r.Node, Changed: r.Changed, Unchanged: r.Unchanged, BackupKey: r.BackupKey}}
	for _, h := range r.Hosts { // those that are left out are named below
		if !slices.ContainsFunc(r.LeftOut, func(l fleet.LeftOut) bool { return l.Node == h.Node }) {
			hosts = append(hosts, h)
		}
	}
	writeHosts(w, hosts)
	fleet.WriteLeftOut(w, r.LeftOut)
	switch {
	case !r.verified:
		return nil
	case len(r.LeftOut) > 0:
		_, err := fmt.Fprintln(w, "the cluster is verified, without the hosts that are left out")
		return err
	}
	_, err := fmt.Fprintf(w, "the cluster is verified: %s, all as airgap.yaml has them\n", ui.Count(len(r.Hosts)+1, "node"))
	return err
}
