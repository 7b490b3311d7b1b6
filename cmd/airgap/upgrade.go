package main

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/verify"
)

type upgradeOptions struct {
	keys, skip   []string
	rules        []string // of verify, to leave out; skip are preflight checks
	dryRun       bool
	noSSH        bool
	noWayBack    bool
	drainTimeout time.Duration
	timeout      wellTimeout // before the first host, and after each
}

const upgradeLong = `Brings a cluster to the bundle in DIR: to the next minor or a patch of Kubernetes, to
other versions of what comes with it, or only to another configuration. Run it on the
first control-plane host, with the airgap.rpm of that bundle installed (rpm -U
--oldpackage --replacepkgs airgap.rpm). The bundle is of the same name: in airgap.yaml
that stays, only airgap bundle -o names another directory. It was made after the one
that the cluster is as, for of several in a store the newest counts.

What can be checked is checked before anything is changed: that the versions follow
each other, that airgap.yaml changes nothing that a running cluster cannot change, that
every host passes preflight and dnf would do exactly what the lock says, that the
cluster is well and etcd not full, that no PodDisruptionBudget and no webhook would stop
it, that it can be taken back and there is room for the backup which that needs. Then,
step by step: the cluster is written down as it is; every registry and every host gets
what it will need, images compared with their digests; each control-plane host keeps
etcd's snapshot, keys and configuration as they are (where there is one such host only,
airgap backup --dir makes the second copy); the first control-plane host is upgraded,
the others, the workers, one at a time. Each is drained first, as its
PodDisruptionBudgets allow (what a pod keeps in an emptyDir goes with it), and after
each the cluster is compared with what was written down. Network plugin and add-ons
come last.

Other hosts are worked on through SSH where airgap.yaml has a section ssh; without, or
with --no-ssh, it says what to run on which host, and goes on when that is done.

The command can be interrupted at any point, and goes on when it is run again: what it
has left at work on another host is waited for. airgap rollback takes an upgrade back
that does not come to a good end. Where it could not, since keys of the cluster's
authorities are kept elsewhere or etcd's data lies in a directory of the site's, the
upgrade does not begin, but with --no-way-back.`

func (a *app) upgrade() *cobra.Command {
	var o upgradeOptions
	cmd := &cobra.Command{
		Use:     "upgrade DIR",
		Short:   "Bring the cluster to another bundle: Kubernetes, its parts, its configuration",
		Long:    upgradeLong,
		Example: "  airgap upgrade /media/stick/1.36/bank --dry-run\n  airgap upgrade /media/stick/1.36/bank",
		Args:    oneArg("the bundle's directory"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.runUpgrade(cmd.Context(), args[0], o) },
	}
	keyFlags(cmd, &o.keys)
	f := cmd.Flags()
	f.BoolVar(&o.dryRun, "dry-run", false, "only check, and say what would be done, in which order;\nputs airgap.rpm on hosts that are reached through SSH")
	f.BoolVar(&o.noSSH, "no-ssh", false, "say what to run on the other hosts instead of running it there through SSH")
	f.StringSliceVar(&o.skip, "skip", nil, "preflight checks and rules of verify to leave out, by id")
	f.DurationVar(&o.drainTimeout, "drain-timeout", 15*time.Minute, "how long the pods of one host may take to leave it")
	o.timeout.flag(f, "how long the cluster may take to be well before the upgrade, and as before after each host")
	f.BoolVar(&o.noWayBack, "no-way-back", false, "upgrade also where airgap rollback could not take it back")
	return cmd
}

// upgrade is one at work, on the first control-plane host.
type upgrade struct {
	app     *app
	options upgradeOptions
	site    *site.Site // as the new bundle has it
	old     *site.Site // as the cluster is
	view    *bundle.View
	trusted []*ecdsa.PublicKey
	fleet   *fleet // nil: the other hosts are worked on by hand
	target  string // ID of the bundle that the hosts are brought to
	record  upgraderecord.Record
	client  kubernetes.Interface
	nodes   map[string]corev1.Node // of the cluster, as they were at the start
	p       ui.Progress
}

// upgraded is the result on stdout.
type upgraded struct {
	From      upgraderecord.BundleRef `json:"from"`
	To        upgraderecord.BundleRef `json:"to"`
	Changed   int                     `json:"changed"`   // steps that ran
	Unchanged int                     `json:"unchanged"` // steps whose result held already
}

func (a *app) runUpgrade(ctx context.Context, dir string, o upgradeOptions) error {
	if err := mustBeRoot("upgrade"); err != nil {
		return err
	}
	var err error
	if o.skip, o.rules, err = verdict.SplitSkip(o.skip); err != nil {
		return err
	}
	if err := site.ThisMachine().RefuseAmidReplacement("upgrade"); err != nil {
		return err
	}
	v, t, err := site.OpenWhole(dir, o.keys)
	if err != nil {
		return err
	}
	defer v.Close()
	u := &upgrade{app: a, options: o, view: v, trusted: t.Keys}
	if err := u.open(ctx, t); err != nil {
		return err
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return err
	}
	defer release()
	u.fleet, err = a.connectFleet(ctx, u.site, v.Top(), installOptions{skip: o.skip, noSSH: o.noSSH})
	if err != nil {
		return err
	}
	defer u.fleet.close()
	u.fleet.awaitBusy()
	u.p = a.newProgress()
	if !o.dryRun {
		if err := join.MendTorn(ctx, u.site, u.p); err != nil {
			return err
		}
	}
	if err := u.check(ctx); err != nil {
		return err
	}
	if o.dryRun {
		return u.rehearse()
	}
	result, err := u.run(ctx)
	if err != nil {
		return orBack(advice.Add(err, "mend it and run the same command again: finished steps are not repeated"))
	}
	done := upgraded{u.record.From, u.record.To, result.Changed, result.Unchanged}
	return a.print(done, func(w io.Writer) error { return done.write(w) })
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

func (r upgraded) write(w io.Writer) error {
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
	s.Required = t.Required
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
			return advice.Add(fmt.Errorf("bundle %s, which was only imported, was made later than this one: of those in %s the newest counts", stored(b), store.Dir),
				"airgap registry prune %s --drop-tags, on each control-plane host that has it, lets it go; or upgrade to that one, or make this one anew", stored(b))
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

// others are the nodes beside the first control-plane host, in the order of an
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
	return runSteps(ctx, steps, u.p)
}

// rehearse says in which order what would be done.
func (u *upgrade) rehearse() error {
	r, words, changed := u.record, []string{}, "nothing was changed"
	if u.fleet != nil { // it is their own program that judges them
		changed += ", but that the other hosts have this bundle's airgap.rpm now"
	}
	for _, n := range append([]config.Node{u.site.Node}, u.others()...) {
		words = append(words, n.Name)
	}
	return u.app.print(r, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "every check passes; Kubernetes %s → %s, one host after the other: %s\n%s\n%s\n",
			r.From.Kubernetes, r.To.Kubernetes, strings.Join(words, ", "), u.wayBack(), changed)
		return err
	})
}

// compare judges the cluster by how it was before the upgrade, but for nodes that were removed
// since. Containers that were started anew are what an upgrade does.
func (u *upgrade) compare(ctx context.Context) error {
	before, err := (&verdict.Modes{Baseline: verdict.CompareBaseline, File: upgraderecord.UpgradeBaselineFile}).Before()
	if err != nil {
		return err
	}
	for _, name := range u.site.Removed {
		delete(before.Snapshot.Nodes, name)
	}
	v, err := u.verification(false)
	if err != nil {
		return err
	}
	v.Baseline, v.Skip = before, append([]string{"restarts"}, v.Skip...)
	return u.judge(ctx, v)
}

// verification is of the nodes that there are: others of airgap.yaml join later.
func (u *upgrade) verification(systemOnly bool) (verify.Options, error) {
	v, err := verdict.Verification(u.site, verdict.Options{
		Kubeconfig: kubeadm.AdminConf, SystemOnly: systemOnly, Skip: u.options.rules, Timeout: time.Duration(u.options.timeout),
	}, u.p)
	v.Nodes = slices.Sorted(maps.Keys(u.nodes))
	facts := v.Facts
	v.Facts = func(ctx context.Context) verify.Facts {
		f := facts(ctx)
		f.Nodes = nil // they stay
		return f
	}
	return v, err
}

func (u *upgrade) judge(ctx context.Context, v verify.Options) error {
	report, err := verify.Run(ctx, v)
	if err != nil {
		return err
	}
	if !report.OK {
		return u.app.showVerdict(report)
	}
	return nil
}
