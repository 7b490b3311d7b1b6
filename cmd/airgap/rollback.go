package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/registry"
)

type rollbackOptions struct {
	keys, skip []string
	yes, noSSH bool
	timeout    wellTimeout
	backup     backupOptions
	forget     bool   // on another control-plane host: only forget the new bundle
	of         string // the beginning of the ID of the bundle that the upgrade was to
}

const rollbackLong = `Takes the last upgrade back: the cluster has the bundle, the packages and the
configuration again that it had before, and etcd's data as they were when the first
host was about to be changed. What was written to the cluster since is lost. Run it on
the first control-plane host; it knows how far the upgrade came, and an upgrade that
had changed no host yet is just forgotten. On another control-plane host it takes that
one out of the upgraded cluster: run it there when the first one says so.

The control plane stands still from the moment at which the control-plane hosts leave
the upgraded cluster until the first one is back. Pods go on meanwhile; those that came
since the upgrade began end when their kubelets hear of the restored cluster.

Bundles that came into the stores after the one to go back to leave them: of several the
newest would be installed from. Nodes that were removed since stay removed. A control-plane
host that came since, and that the bundle of before does not have, is to be removed first.

Other hosts are worked on through SSH where airgap.yaml has a section ssh; without, or
with --no-ssh, it says what to run on which host, and goes on when that is done.

The command can be interrupted at any point, and goes on when it is run again. At the
end the cluster is compared with what it was like before the upgrade.`

func (a *app) rollback() *cobra.Command {
	var o rollbackOptions
	cmd := &cobra.Command{
		Use: "rollback", Short: "Take the last upgrade back, and what was written since", Args: noArgs,
		Long:    rollbackLong,
		Example: "  airgap rollback\n  airgap rollback --yes   # asks nothing",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runRollback(cmd.Context(), o) },
	}
	keyFlags(cmd, &o.keys)
	o.backup.flags(cmd, ". Default: this host's own")
	f := cmd.Flags()
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.BoolVar(&o.noSSH, "no-ssh", false, "say what to run on the other hosts instead of running it there through SSH")
	f.StringSliceVar(&o.skip, "skip", nil, "preflight checks and rules of verify to leave out, by id")
	o.timeout.flag(f, "how long the cluster may take to be as before the upgrade at the end")
	f.BoolVar(&o.forget, "forget", false, "on another control-plane host: only forget the new bundle, for no host was changed")
	f.StringVar(&o.of, "of", "", "on another control-plane host: which upgrade, by the ID of its bundle;\nairgap rollback on the first one names it. One that this host was not prepared for,\nor has left already, is nothing to do")
	return cmd
}

// rollback is one at work.
type rollback struct {
	upgrade // to the bundle of before
	backup  *savedCluster
	yes     bool
	// installs says that hosts are installed from the bundle of before: a newer one that stays
	// in a store would be installed from instead.
	installs bool
	made     time.Time // when the bundle of before was
}

func (a *app) runRollback(ctx context.Context, o rollbackOptions) error {
	if err := mustBeRoot("rollback"); err != nil {
		return err
	}
	if err := site.ThisMachine().RefuseAmidReplacement("take the last upgrade back"); err != nil {
		return err
	}
	var rules []string
	var err error
	if o.skip, rules, err = verdict.SplitSkip(o.skip); err != nil {
		return err
	}
	r := &rollback{upgrade: upgrade{app: a, options: upgradeOptions{keys: o.keys, skip: o.skip, rules: rules, noSSH: o.noSSH, drainTimeout: 15 * time.Minute, timeout: o.timeout}}, yes: o.yes}
	record, err := upgraderecord.Read()
	if err != nil {
		return err
	}
	joined, err := site.ThisMachine().Joined()
	if err != nil {
		return err
	}
	r.installs = record.Changed || o.of != "" && !o.forget
	if r.record = record; takenBack(record, o, joined) {
		return a.print(installed{}, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, "nothing to do: of that upgrade there is nothing, or nothing any more, on this host")
			return err
		})
	}
	if err := r.open(ctx, o); err != nil {
		return err
	}
	defer r.view.Close()
	release, err := hostcheck.LockHost()
	if err != nil {
		return err
	}
	defer release()
	if first := r.site.Config.Master(); r.site.Node.Name != first.Name {
		if err := r.confirmStandDown(ctx, first.Name); err != nil {
			return err
		}
		return r.standDownHere(ctx, o)
	}
	if err := r.confirm(ctx); err != nil {
		return err
	}
	if r.fleet, err = a.connectFleet(ctx, r.site, r.view.Top(), installOptions{skip: o.skip, noSSH: o.noSSH}); err != nil {
		return err
	}
	defer r.fleet.close()
	r.fleet.awaitBusy()
	r.p = a.newProgress()
	if err := hostcheck.AtRest(ctx, r.site, r.p); err != nil {
		return err
	}
	steps := r.forgetSteps
	if r.record.Changed {
		steps = r.steps
	}
	done, err := runSteps(ctx, steps(), r.p)
	if err != nil {
		return advice.Add(err, "mend it and run airgap rollback again: finished steps are not repeated")
	}
	return a.print(upgraded{r.record.To, r.record.From, done.Changed, done.Unchanged}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "rolled back to Kubernetes %s, of bundle %s (%d steps ran, %d held already)\n", r.record.From.Kubernetes, r.record.From.Name, done.Changed, done.Unchanged)
		return err
	})
}

// takenBack reports whether this host has done its part in taking the upgrade back that
// the first host names: who lost the connection to it, or was killed, asks again. A host
// may also know nothing of an upgrade that was broken off before it was prepared; what it
// knows of the one before must stay then, for the cluster is as that one left it. One that
// is in no cluster has none to leave.
func takenBack(r upgraderecord.Record, o rollbackOptions, joined bool) bool {
	if o.of == "" {
		return false
	}
	if !strings.HasPrefix(r.To.ID, o.of) {
		return o.forget || !joined
	}
	return !r.RolledBack.IsZero()
}

// open reads what there is to take back, and whether that can be done.
func (r *rollback) open(ctx context.Context, o rollbackOptions) (err error) {
	if o.of != "" && !strings.HasPrefix(r.record.To.ID, o.of) {
		return advice.Add(errors.New("take the last upgrade back: this host was not upgraded, but came into the cluster later, and has nothing to go back to"), "airgap reset here, then airgap rollback again on the first control-plane host, which has this one join anew")
	}
	if r.record.To.ID == "" || !r.record.RolledBack.IsZero() {
		return advice.Add(errors.New("take the last upgrade back: there is none on this host"), "airgap rollback is for the first control-plane host, after airgap upgrade; airgap restore brings a lost cluster back")
	}
	t, err := site.TrustedKeys(o.keys, site.StoredBundles(site.StoreDir)...)
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
	r.site.Required, r.old, r.target = t.Required, r.site, r.record.From.ID
	if !r.record.Changed || r.site.Node.Name != r.site.Config.Master().Name {
		return nil
	}
	newest, err := upgraderecord.BackupsBefore(r.record.To.ID).Newest()
	if err != nil || newest == nil {
		return advice.Add(errors.Join(errors.New("take the last upgrade back: the backup from before it is gone"), err), "airgap restore brings the cluster back from another backup")
	}
	if r.backup, err = openBackupBefore(ctx, newest.Dir, site.BackupKeys, o.backup); ctx.Err() != nil {
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

// openBackupBefore opens a backup of before an upgrade, which the host of these keys has made, or
// one whose key is named.
func openBackupBefore(ctx context.Context, dir string, keys backup.KeyDir, o backupOptions) (*savedCluster, error) {
	trust, err := o.trust()
	if err != nil {
		return nil, err
	}
	own, err := keys.Public()
	if err != nil {
		return nil, err
	}
	if own != nil {
		trust.Keys = append(trust.Keys, own)
	}
	c, err := backup.Open(dir, trust)
	if err != nil {
		return nil, err
	}
	return checkBackup(ctx, c)
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
	was, err := r.backup.File(kubeadm.ClusterCA)
	if err != nil {
		return err
	}
	now, err := os.ReadFile(kubeadm.ClusterCA)
	if err != nil || bytes.Equal(now, was) {
		return host.IgnoreMissing(err)
	}
	return advice.Add(errors.New("take the last upgrade back: the cluster's authority has been replaced since, and the other hosts do not trust the one in the backup"), "airgap restore brings the cluster of then back, on hosts that join anew")
}

// confirm tells what is lost.
func (r *rollback) confirm(ctx context.Context) error {
	if r.yes || !r.record.Changed || len(r.record.Back) > 0 {
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
	if r.yes || !r.site.ServesRegistry() {
		return nil
	}
	return r.agreed(ctx, fmt.Sprintf("airgap rollback begins on %s, which says when it is this host's turn. Here it takes %s out of the upgraded cluster.", first, r.site.Node.Name))
}

// agreed is nil when the person says yes to what will be.
func (r *rollback) agreed(ctx context.Context, what string) error {
	fmt.Fprintln(r.app.stderr, what)
	if !r.app.atPerson() {
		return advice.Usagef("airgap rollback: nobody is there to be asked; --yes says that this is known")
	}
	answer, err := r.app.ask(ctx, "Type yes to go on: ", false)
	if err == nil && strings.TrimSpace(answer) != "yes" {
		err = errors.New("nothing was changed")
	}
	return err
}

// standDownHere is rollback on another control-plane host.
func (r *rollback) standDownHere(ctx context.Context, o rollbackOptions) error {
	if !r.site.ServesRegistry() {
		return advice.Add(errors.New("rollback: this is no control-plane host"), "run airgap rollback on %s", r.site.Config.Master().Name)
	}
	steps := []step.Step{r.onceStep("stand-down", "Leave the upgraded cluster", r.standDown), r.forgetBundleStep()}
	if o.forget {
		steps = steps[1:]
	}
	r.p = r.app.newProgress()
	if err := hostcheck.AtRest(ctx, r.site, r.p); err != nil {
		return err
	}
	if _, err := runSteps(ctx, steps, r.p); err != nil {
		return err
	}
	if err := upgraderecord.Note(func(u *upgraderecord.Record) { u.RolledBack = time.Now().UTC() }); err != nil {
		return err
	}
	return r.app.print(installed{Node: r.site.Node.Name}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: has forgotten bundle %s; airgap rollback on %s goes on\n", r.site.Node.Name, r.record.To.Name, r.site.Config.Master().Name)
		return err
	})
}
