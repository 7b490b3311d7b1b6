package upgrade

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/recovery"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/pki"
	"airgap.dev/airgap/registry"
)

// BackOptions are those of airgap rollback.
type BackOptions struct {
	Keys    []string      // of --require-key
	Skip    []string      // preflight checks and rules of verify
	Yes     bool          // ask nothing
	NoSSH   bool          // the other hosts are worked on by hand
	Timeout time.Duration // for the cluster to be as before at the end
	Backup  recovery.BackupTrust
	Forget  bool   // on another control-plane host: only forget the new bundle
	Of      string // the beginning of the ID of the bundle that the upgrade was to
	Console ui.Console
}

// rollback is one at work.
type rollback struct {
	rollout // to the bundle of before
	options BackOptions
	backup  *recovery.SavedCluster
	// installs says that hosts are installed from the bundle of before: a newer one that stays
	// in a store would be installed from instead.
	installs bool
	made     time.Time // when the bundle of before was
}

// BackResult is the result of a rollback: of the whole cluster, or of one other control-plane host.
type BackResult struct {
	Node      string                  `json:"node,omitempty"` // the other host
	From      upgraderecord.BundleRef `json:"from,omitzero"`
	To        upgraderecord.BundleRef `json:"to,omitzero"`
	Changed   int                     `json:"changed"`   // steps that ran
	Unchanged int                     `json:"unchanged"` // steps whose result held already
	said      string
}

func (r BackResult) Write(w io.Writer) error {
	_, err := fmt.Fprintln(w, r.said)
	return err
}

// Back takes the last upgrade back.
func Back(ctx context.Context, o BackOptions) (BackResult, error) {
	if err := hostcheck.MustBeRoot("rollback"); err != nil {
		return BackResult{}, err
	}
	if err := pki.RefuseAmidReplacement(site.ThisMachine().Machine, "take the last upgrade back"); err != nil {
		return BackResult{}, err
	}
	skip, rules, err := verdict.SplitSkip(o.Skip)
	if err != nil {
		return BackResult{}, err
	}
	o.Skip = skip
	r := &rollback{rollout: rollout{pace: pace{rules, 15 * time.Minute, o.Timeout}, journal: step.OpenJournal(site.JournalFile)}, options: o}
	record, err := upgraderecord.Read()
	if err != nil {
		return BackResult{}, err
	}
	joined, err := site.ThisMachine().Joined()
	if err != nil {
		return BackResult{}, err
	}
	r.installs = record.Changed || o.Of != "" && !o.Forget
	if r.record = record; takenBack(record, o, joined) {
		return BackResult{said: "nothing to do: of that upgrade there is nothing, or nothing any more, on this host"}, nil
	}
	if err := r.open(ctx, o); err != nil {
		return BackResult{}, err
	}
	defer r.view.Close()
	release, err := hostcheck.LockHost()
	if err != nil {
		return BackResult{}, err
	}
	defer release()
	if first := r.site.Config.Master(); r.site.Node.Name != first.Name {
		if err := r.confirmStandDown(ctx, first.Name); err != nil {
			return BackResult{}, err
		}
		return r.standDownHere(ctx, o)
	}
	return r.leads(ctx)
}

// leads takes the upgrade back on the first control-plane host.
func (r *rollback) leads(ctx context.Context) (done BackResult, err error) {
	if err := r.confirm(ctx); err != nil {
		return done, err
	}
	if r.fleet, err = fleet.Connect(ctx, r.site, r.view.Top(), fleet.Options{Console: r.options.Console, Skip: r.options.Skip, NoSSH: r.options.NoSSH}); err != nil {
		return done, err
	}
	defer r.fleet.Close()
	r.fleet.AwaitBusy()
	r.p = r.options.Console.Progress()
	if err := hostcheck.AtRest(ctx, r.site, r.p); err != nil {
		return done, err
	}
	list := r.forgetSteps
	if r.record.Changed {
		list = r.steps
	}
	steps, err := list()
	if err != nil {
		return done, err
	}
	result, err := journal.Run(ctx, steps, r.p)
	if err != nil {
		return done, advice.Add(err, "mend it and run airgap rollback again: finished steps are not repeated")
	}
	return BackResult{
		From: r.record.To, To: r.record.From, Changed: result.Changed, Unchanged: result.Unchanged,
		said: fmt.Sprintf("rolled back to Kubernetes %s, of bundle %s (%d steps ran, %d held already)", r.record.From.Kubernetes, r.record.From.Name, result.Changed, result.Unchanged),
	}, nil
}

// takenBack reports whether this host has done its part in taking the upgrade back that
// the first host names: who lost the connection to it, or was killed, asks again. A host
// may also know nothing of an upgrade that was broken off before it was prepared; what it
// knows of the one before must stay then, for the cluster is as that one left it. One that
// is in no cluster has none to leave.
func takenBack(r upgraderecord.Record, o BackOptions, joined bool) bool {
	if o.Of == "" {
		return false
	}
	if !strings.HasPrefix(r.To.ID, o.Of) {
		return o.Forget || !joined
	}
	return !r.RolledBack.IsZero()
}

// open reads what there is to take back, and whether that can be done.
func (r *rollback) open(ctx context.Context, o BackOptions) (err error) {
	if o.Of != "" && !strings.HasPrefix(r.record.To.ID, o.Of) {
		return advice.Add(errors.New("take the last upgrade back: this host was not upgraded, but came into the cluster later, and has nothing to go back to"), "airgap reset here, then airgap rollback again on the first control-plane host, which has this one join anew")
	}
	if r.record.To.ID == "" || !r.record.RolledBack.IsZero() {
		return advice.Add(errors.New("take the last upgrade back: there is none on this host"), "airgap rollback is for the first control-plane host, after airgap upgrade; airgap restore brings a lost cluster back")
	}
	t, err := site.TrustedKeys(o.Keys, site.StoredBundles(site.StoreDir)...)
	if err != nil {
		return err
	}
	r.trusted = t.Keys
	if err := r.openView(); err != nil {
		return advice.Add(fmt.Errorf("take the last upgrade back: %w", err), "airgap registry import DIR, with bundle %s of before, or the one that it is a delta against, puts it into the store", r.record.From.Name)
	}
	if r.site, err = site.New(r.view.Top().Index(), ""); err != nil {
		return err
	}
	r.site, r.target = r.site.With(site.Given{Required: t.Required}), r.record.From.ID
	if !r.record.Changed || r.site.Node.Name != r.site.Config.Master().Name {
		return nil
	}
	newest, err := upgraderecord.BackupsBefore(r.record.To.ID).Newest()
	if err != nil || newest == nil {
		return advice.Add(errors.Join(errors.New("take the last upgrade back: the backup from before it is gone"), err), "airgap restore brings the cluster back from another backup")
	}
	if r.backup, err = recovery.OpenBefore(ctx, newest.Dir, site.BackupKeys, o.Backup); ctx.Err() != nil {
		return ctx.Err()
	} else if errors.Is(err, backup.ErrUnsigned) {
		return advice.Add(fmt.Errorf("take the last upgrade back: %w", err), "if the upgrade was begun by an airgap that did not sign, and nobody but root could write there: airgap rollback --allow-unsigned")
	} else if err != nil { // without its advice, which is for a restore
		return advice.Add(errors.New("take the last upgrade back: "+err.Error()), "%s", r.otherCopies())
	}
	if err := r.sameAuthority(); err != nil {
		return err
	}
	return r.possible(ctx)
}

// otherCopies is where another copy of the backup may be.
func (r *rollback) otherCopies() string {
	dir := upgraderecord.BackupsBefore(r.record.To.ID).Dir
	if len(r.site.Config.ControlPlanes()) == 1 {
		return "airgap backup --dir may have put a copy elsewhere, from before the upgrade: put it into " + dir + " in the place of this one, decrypted; airgap restore brings the cluster back from any backup"
	}
	return "each other control-plane host has a copy of its own, made before it was upgraded, in " + dir + ": put one in the place of this host's, as it is, and name that host's key, which airgap status prints there: airgap rollback --backup-key SHA256:…"
}

// openView opens the bundle of before, with what it leaves out: not of those that are about to
// go.
func (r *rollback) openView() (err error) {
	store := registry.Store{Dir: site.StoreDir}
	v, err := store.Named(r.record.From.ID, r.trusted...)
	if err != nil {
		return err
	}
	r.made = v.Top().Index().Created
	v.Close()
	r.view, err = store.Without(r.record.From.ID, r.goes, r.trusted...)
	return err
}

// sameAuthority refuses a way back to an authority that kubelets do not trust any more.
func (r *rollback) sameAuthority() error {
	was, err := r.backup.File(kube.ClusterCA)
	if err != nil {
		return err
	}
	now, err := os.ReadFile(kube.ClusterCA)
	if err != nil || bytes.Equal(now, was) {
		return host.IgnoreMissing(err)
	}
	return advice.Add(errors.New("take the last upgrade back: the cluster's authority has been replaced since, and the other hosts do not trust the one in the backup"), "airgap restore brings the cluster of then back, on hosts that join anew")
}

// confirm tells what is lost.
func (r *rollback) confirm(ctx context.Context) error {
	if r.options.Yes || !r.record.Changed || r.record.GoesBack() {
		return nil
	}
	what := fmt.Sprintf("Kubernetes %s → %s. What was written to the cluster since %s is lost.",
		r.record.To.Kubernetes, r.record.From.Kubernetes, r.backup.Taken.Local().Format("2006-01-02 15:04:05 MST"))
	if later, err := r.laterBundles(); err != nil {
		return err
	} else if len(later) > 0 {
		what += " Out of the stores go, since the newest bundle is what is installed from: " + strings.Join(later, ", ") + "."
	}
	return r.agreed(ctx, what)
}

// confirmStandDown is for who runs it on another host than the first one says.
func (r *rollback) confirmStandDown(ctx context.Context, first string) error {
	if r.options.Yes || !r.site.ServesRegistry() {
		return nil
	}
	return r.agreed(ctx, fmt.Sprintf("airgap rollback begins on %s, which says when it is this host's turn. Here it takes %s out of the upgraded cluster.", first, r.site.Node.Name))
}

// agreed is nil when the person says yes to what will be.
func (r *rollback) agreed(ctx context.Context, what string) error {
	console := r.options.Console
	console.Tell(what)
	if !console.Attended() {
		return advice.Usagef("airgap rollback: nobody is there to be asked; --yes says that this is known")
	}
	answer, err := console.Ask(ctx, "Type yes to go on: ", false)
	if err == nil && strings.TrimSpace(answer) != "yes" {
		err = errors.New("nothing was changed")
	}
	return err
}

// standDownHere is rollback on another control-plane host.
func (r *rollback) standDownHere(ctx context.Context, o BackOptions) (BackResult, error) {
	if !r.site.ServesRegistry() {
		return BackResult{}, advice.Add(errors.New("rollback: this is no control-plane host"), "run airgap rollback on %s", r.site.Config.Master().Name)
	}
	steps := []step.Step{r.onceStep(standDownName, "Leave the upgraded cluster", r.standDown), r.forgetBundleStep()}
	if o.Forget {
		steps = steps[1:]
	}
	r.p = o.Console.Progress()
	if err := hostcheck.AtRest(ctx, r.site, r.p); err != nil {
		return BackResult{}, err
	}
	if _, err := journal.Run(ctx, steps, r.p); err != nil {
		return BackResult{}, err
	}
	if err := upgraderecord.Note(func(u *upgraderecord.Record) { u.RolledBack = time.Now().UTC() }); err != nil {
		return BackResult{}, err
	}
	return BackResult{
		Node: r.site.Node.Name,
		said: fmt.Sprintf("%s: has forgotten bundle %s; airgap rollback on %s goes on", r.site.Node.Name, r.record.To.Name, r.site.Config.Master().Name),
	}, nil
}
