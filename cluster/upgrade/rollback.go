package upgrade

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/cluster/clusterlock"
	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/recovery"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/pki"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/verify/result"
)

// BackOptions are the flags of airgap rollback.
type BackOptions struct {
	Keys    []string      // of --require-key
	Skip    []string      // preflight checks and rules of verify
	Yes     bool          // do not ask for confirmation
	NoSSH   bool          // show the commands for the other hosts instead of running them
	Timeout time.Duration // maximum wait at the end until the cluster has its earlier state
	Pace    Pace
	Backup  recovery.BackupTrust
	Forget  bool   // on another control-plane host: only remove the new bundle
	Of      string // prefix of the ID of the upgrade's new bundle
	Console ui.Console
}

// rollback is one run of airgap rollback.
type rollback struct {
	rollout // to the earlier bundle
	options BackOptions
	backup  *recovery.SavedCluster
	// installs is true if hosts install from the earlier bundle. A newer bundle must not stay in a
	// store then, because airgap would install from that.
	installs bool
	created  time.Time // of the earlier bundle

	recording sync.Mutex // of workers that are back
}

// BackResult is the result of a rollback: of the whole cluster, or of one other control-plane host.
type BackResult struct {
	Node      string                  `json:"node,omitempty"` // other control-plane host
	From      upgraderecord.BundleRef `json:"from,omitzero"`
	To        upgraderecord.BundleRef `json:"to,omitzero"`
	Changed   int                     `json:"changed"`          // steps that ran
	Unchanged int                     `json:"unchanged"`        // steps that had nothing to do
	Left      *Left                   `json:"left,omitempty"`   // hosts for a later run; nil if the rollback is finished
	Owed      []string                `json:"owed,omitempty"`   // workers that the rollback left out
	Failed    []fleet.LeftOut         `json:"failed,omitempty"` // workers that failed while the rollback went on
	Report    *result.Report          `json:"report,omitempty"` // of the verification, if it failed
	// Elsewhere are the findings that did not stop the upgrade or the rollback.
	Elsewhere []upgraderecord.Elsewhere `json:"elsewhere,omitempty"`
	message   string
}

func (r BackResult) Write(w io.Writer) error {
	if r.Left != nil {
		return r.Left.write(w)
	}
	fleet.WriteLeftOut(w, r.Failed)
	if len(r.Owed) > 0 {
		fmt.Fprintf(w, "left out and owed: %s; run the same command again to bring them back\n", hostrange.Join(r.Owed))
	}
	fmt.Fprintln(w, r.message)
	return writeElsewhere(w, r.Elsewhere)
}

// Back rolls back the last upgrade.
func Back(ctx context.Context, o BackOptions) (BackResult, error) {
	if err := hostcheck.MustBeInstalled("rollback"); err != nil {
		return BackResult{}, err
	}
	if err := pki.RefuseDuringCARotation(site.ThisMachine().Machine, "roll back the last upgrade"); err != nil {
		return BackResult{}, err
	}
	skip, rules, err := verification.SplitSkip(o.Skip)
	if err != nil {
		return BackResult{}, err
	}
	o.Skip = skip
	r := &rollback{rollout: rollout{limits: limits{rules, 15 * time.Minute, o.Timeout}, journal: step.OpenJournal(site.JournalFile), findings: upgraderecord.Findings()}, options: o}
	r.doneWorkers, r.debts = upgraderecord.WorkersOf(), owed.Record
	joined, err := site.ThisMachine().Joined()
	if err != nil {
		return BackResult{}, err
	}
	record, err := o.record(ctx, joined)
	if err != nil {
		return BackResult{}, err
	}
	if err := r.pace.set("rollback", o.Pace, o.Console); err != nil {
		return BackResult{}, err
	}
	r.installs = record.Changed || o.Of != "" && !o.Forget
	if r.record = record; alreadyRolledBack(record, o, joined) {
		return BackResult{message: "nothing to do: this host has no changes of that upgrade"}, nil
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
		return r.standDownOther(ctx, o)
	}
	return clusterlock.During(ctx, r.command("airgap rollback", o.Console), r.runOnFirstHost)
}

// runOnFirstHost rolls back the upgrade on the first control-plane host.
func (r *rollback) runOnFirstHost(ctx context.Context) (done BackResult, err error) {
	if err := r.pace.choose(r.site.Config.Nodes); err != nil {
		return done, err
	}
	if err := r.askLoss(ctx); err != nil {
		return done, err
	}
	o := r.options
	if r.fleet, err = fleet.Connect(ctx, r.site, r.view.Top(), r.pace.reaching(o.Console, o.Skip, o.NoSSH)); err != nil {
		return done, err
	}
	defer r.fleet.Close()
	r.reach(r.fleet)
	r.p = r.pace.progress(o.Console)
	defer r.pace.end()
	if err := withoutFailed(&r.rollout); err != nil {
		return done, err
	}
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
	left, err := r.ended(err)
	r.shareDebts(ctx)
	return r.result(result, left, advice.Add(err, "fix the error and run airgap rollback again: completed steps do not run again"))
}

// result is the result of a run: also of one that failed, because it has changed hosts.
func (r *rollback) result(steps step.Result, left *Left, failed error) (BackResult, error) {
	elsewhere, err := r.findings.Elsewhere()
	done := BackResult{
		From: r.record.To, To: r.record.From, Changed: steps.Changed, Unchanged: steps.Unchanged, Left: left,
		Owed: r.pace.owed, Failed: r.pace.failed, Report: verification.ReportIn(failed), Elsewhere: elsewhere,
	}
	what := "rolled back to"
	if failed != nil {
		what = "not finished: the rollback to"
	}
	done.message = fmt.Sprintf("%s Kubernetes %s of bundle %s (%d steps ran, %d were up to date)", what, done.To.Kubernetes, done.To.Name, steps.Changed, steps.Unchanged)
	return done, errors.Join(failed, err)
}

// Began reports whether the rollback has begun to change hosts.
func (r BackResult) Began() bool { return r.To.ID != "" }

// alreadyRolledBack reports whether this host has no part left in the rollback that the first host
// asks for. The first host repeats the request after a lost connection or a kill. A host that was not
// prepared for that upgrade keeps the record of the one before it, because the cluster still has its
// bundle. A host outside a cluster has none to leave.
func alreadyRolledBack(r upgraderecord.Record, o BackOptions, joined bool) bool {
	if o.Of == "" {
		return false
	}
	if !strings.HasPrefix(r.To.ID, o.Of) {
		return o.Forget || !joined
	}
	return !r.RolledBack.IsZero()
}

// open reads the record, the earlier bundle and the backup, and returns an error if a rollback is
// impossible.
func (r *rollback) open(ctx context.Context, o BackOptions) (err error) {
	if o.Of != "" && !strings.HasPrefix(r.record.To.ID, o.Of) {
		return advice.Add(errors.New("roll back the last upgrade: this host joined the cluster after the upgrade, and has no earlier state"), "run airgap reset here; then run airgap rollback again on the first control-plane host, which joins this host again")
	}
	if r.record.To.ID == "" || !r.record.RolledBack.IsZero() {
		return advice.Add(errors.New("roll back the last upgrade: this host has no record of one"), "run airgap rollback on the first control-plane host after airgap upgrade; to restore a lost cluster, use airgap restore")
	}
	t, err := site.TrustedKeys(o.Keys, site.StoredBundles(site.StoreDir)...)
	if err != nil {
		return err
	}
	r.trusted = t.Keys
	if err := r.openView(); err != nil {
		return advice.Add(fmt.Errorf("roll back the last upgrade: %w", err), "import the earlier bundle %s, or the bundle that it is a delta of: airgap registry import DIR", r.record.From.Name)
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
		return advice.Add(errors.Join(errors.New("roll back the last upgrade: the backup from before the upgrade is missing"), err), "restore the cluster from another backup: airgap restore")
	}
	if r.backup, err = recovery.OpenBefore(ctx, newest.Dir, site.BackupKeys, o.Backup); ctx.Err() != nil {
		return ctx.Err()
	} else if errors.Is(err, backup.ErrUnsigned) {
		return advice.Add(fmt.Errorf("roll back the last upgrade: %w", err), "if an airgap without signatures started the upgrade, and only root could write there, use airgap rollback --allow-unsigned")
	} else if err != nil { // without its hint, which is for airgap restore
		return advice.Add(errors.New("roll back the last upgrade: "+err.Error()), "%s", r.otherCopies())
	}
	if err := r.checkCA(); err != nil {
		return err
	}
	if err := checkBackupTime(r.site, r.record, r.backup.Taken); err != nil {
		return err
	}
	return r.checkPossible(ctx)
}

// otherCopies returns the hint that says where another copy of the backup may be.
func (r *rollback) otherCopies() string {
	dir := upgraderecord.BackupsBefore(r.record.To.ID).Dir
	if len(r.site.Config.ControlPlanes()) == 1 {
		return "if airgap backup --dir made a copy before the upgrade, replace this backup in " + dir + " with the decrypted copy; airgap restore accepts any backup"
	}
	return "each other control-plane host has its own backup from before its upgrade in " + dir + ": " + useCopy
}

// openView opens the earlier bundle with the bundles that it depends on, without those that the
// rollback removes.
func (r *rollback) openView() (err error) {
	store := registry.Store{Dir: site.StoreDir}
	v, err := store.Named(r.record.From.ID, r.trusted...)
	if err != nil {
		return err
	}
	r.created = v.Top().Index().Created
	v.Close()
	r.view, err = store.Without(r.record.From.ID, r.removes, r.trusted...)
	return err
}

// checkCA returns an error if the backup has another cluster CA: kubelets no longer trust that one.
func (r *rollback) checkCA() error {
	was, err := r.backup.File(kube.ClusterCA)
	if err != nil {
		return err
	}
	now, err := os.ReadFile(kube.ClusterCA)
	if err != nil || bytes.Equal(now, was) {
		return host.IgnoreMissing(err)
	}
	return advice.Add(errors.New("roll back the last upgrade: the cluster CA was rotated after the upgrade, and the other hosts do not trust the CA in the backup"), "restore the earlier cluster with airgap restore, and join the other hosts again")
}

// askLoss shows the data that is lost, and asks for confirmation.
func (r *rollback) askLoss(ctx context.Context) error {
	if r.options.Yes || !r.record.Changed || r.record.HasRollback() {
		return nil
	}
	text := fmt.Sprintf("Kubernetes %s → %s. All writes to the cluster since %s are lost.",
		r.record.To.Kubernetes, r.record.From.Kubernetes, r.backup.Taken.Local().Format("2006-01-02 15:04:05 MST"))
	if later, err := r.newerBundles(); err != nil {
		return err
	} else if len(later) > 0 {
		text += " These newer bundles are removed from the stores, because airgap installs from the newest bundle: " + strings.Join(later, ", ") + "."
	}
	return r.askConfirmation(ctx, text)
}

// confirmStandDown asks for confirmation on another control-plane host, in case the user has not come
// here at the request of the first one.
func (r *rollback) confirmStandDown(ctx context.Context, first string) error {
	if r.options.Yes || !r.site.ServesRegistry() {
		return nil
	}
	return r.askConfirmation(ctx, fmt.Sprintf("airgap rollback starts on %s, which says when it is the turn of this host. Here it removes %s from the upgraded cluster.", first, r.site.Node.Name))
}

// askConfirmation shows the text, and returns nil if the user answers yes.
func (r *rollback) askConfirmation(ctx context.Context, text string) error {
	console := r.options.Console
	console.Tell(text)
	if !console.Attended() {
		return advice.Usagef("airgap rollback: cannot ask for confirmation without a terminal; use --yes to confirm")
	}
	answer, err := console.Ask(ctx, "Type yes to continue: ", false)
	if err == nil && strings.TrimSpace(answer) != "yes" {
		err = errors.New("nothing was changed")
	}
	return err
}

// standDownOther runs the rollback on another control-plane host.
func (r *rollback) standDownOther(ctx context.Context, o BackOptions) (BackResult, error) {
	if !r.site.ServesRegistry() {
		return BackResult{}, advice.Add(errors.New("rollback: this host is not a control-plane host"), "run airgap rollback on %s", r.site.Config.Master().Name)
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
		Node:    r.site.Node.Name,
		message: fmt.Sprintf("%s: removed bundle %s; airgap rollback on %s continues", r.site.Node.Name, r.record.To.Name, r.site.Config.Master().Name),
	}, nil
}
