package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
)

type resetOptions struct{ yes, dryRun, wipe bool }

func (a *app) reset() *cobra.Command {
	var o resetOptions
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Take back what airgap did to this server",
		Long: `Takes back the steps of install or join, last first, by what they wrote down when
they ran: neither the stick nor the registry is needed. It says first what it is
going to do, and asks. A host whose install was interrupted is taken back as well.
It can be interrupted at any point and run again.

Afterwards the server is as it was before, but for data, which stays:
  ` + site.StoreDir + `              bundles: the next install need not copy them again
  ` + site.PushedDir + `             images that the site pushed
  ` + site.BackupDir + `, upgrade    backups: each day's, those from before an upgrade
  ` + kubeadm.KeptDir + `/etcd-*        etcd's data, moved there, on the last control-plane
                                     host, or one that reaches no other
  /var/lib/containerd, crio          images, which the registry would give again
  /var/log/pods, containers, airgap  logs
  /var/log/kubernetes                the audit log
With --wipe-data all of it is deleted, also after a reset that left it: copy backups
and pushed images away first, where they are the last ones.

Pods and what they keep on this host (emptyDir) are gone afterwards, and so are the
cluster's keys and certificates. Kernel modules stay loaded until the next reboot.
airgap itself goes with rpm -e airgap.`,
		Example: "  airgap reset --dry-run\n  airgap reset --yes --wipe-data",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runReset(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would be done")
	cmd.Flags().BoolVar(&o.wipe, "wipe-data", false, "delete bundles, pushed images, backups, etcd's data, images, logs and the audit log too")
	return cmd
}

// resetPlan is the result of --dry-run.
type resetPlan struct {
	Steps  []plannedStep `json:"steps"` // in the order in which they are taken back
	Delete []string      `json:"delete,omitempty"`
	Keep   []string      `json:"keep,omitempty"`
}

type plannedStep struct {
	Step  string `json:"step"`
	Title string `json:"title"`
}

// resetResult is what was done.
type resetResult struct {
	Undone  int      `json:"undone"`            // steps taken back
	Deleted []string `json:"deleted,omitempty"` // directories with data
	Kept    []string `json:"kept,omitempty"`
	Listed  string   `json:"listed,omitempty"` // the Node that is still to be deleted
}

func (a *app) runReset(ctx context.Context, o resetOptions) error {
	if err := mustBeRoot("reset"); err != nil {
		return err
	}
	if !o.dryRun {
		release, err := hostcheck.LockHost()
		if err != nil {
			return err
		}
		defer release()
	}
	journal := step.OpenJournal(site.JournalFile)
	steps, err := journal.Standing(resetSteps(o.wipe))
	if err != nil {
		return err
	}
	plan, err := planReset(steps, o.wipe)
	if err != nil {
		return err
	}
	if err := resetRefused(len(steps) > 0, o.wipe); err != nil {
		return fmt.Errorf("airgap reset: nothing was changed: %w", err)
	}
	if o.dryRun {
		return a.print(plan, plan.write)
	}
	if len(plan.Steps)+len(plan.Delete) > 0 && !o.yes {
		if err := errors.Join(plan.write(a.stderr), a.confirm(ctx, "Type yes to go on: ")); err != nil {
			return err
		}
	}
	result, err := a.takeBack(ctx, journal, steps, o.wipe)
	if err != nil {
		return advice.Add(err, "mend it and run airgap reset again: what was taken back already is not repeated")
	}
	return a.print(result, result.write)
}

// resetRefused is why a reset would delete something else than the cluster's, found out
// before anything is changed.
func resetRefused(standing, wipe bool) error {
	m := site.ThisMachine()
	if standing {
		if err := kubeadm.ResetRefused(m, wipe); err != nil {
			return err
		}
	}
	if !wipe {
		return nil
	}
	for _, dir := range ownData() {
		if err := host.TreeRefused(dir); err != nil {
			return advice.Add(err, "move what is there out of the way and remove the link or the mount; then run airgap reset --wipe-data again")
		}
	}
	return kubeadm.WipeRefused(m)
}

// ownData are airgap's own directories with data; LogDir itself is airgap.rpm's.
func ownData() []string {
	return []string{site.StoreDir, site.PushedDir, site.BackupDir, site.UpgradeDir, kubeadm.KeptDir}
}

func planReset(steps []step.Step, wipe bool) (resetPlan, error) {
	var plan resetPlan
	for _, s := range slices.Backward(steps) {
		plan.Steps = append(plan.Steps, plannedStep{s.Name, s.Title})
	}
	data, err := dataHere(len(steps) > 0)
	if wipe {
		plan.Delete = data
	} else {
		plan.Keep = data
	}
	return plan, err
}

func (p resetPlan) write(w io.Writer) error {
	if len(p.Steps)+len(p.Delete) == 0 {
		fmt.Fprintln(w, "nothing to take back: airgap did not begin anything on this host")
	} else {
		fmt.Fprintln(w, "airgap reset takes back, in this order:")
	}
	for _, s := range p.Steps {
		fmt.Fprintf(w, "  %-16s %s\n", s.Step, s.Title)
	}
	writePaths(w, "and deletes:", p.Delete)
	writePaths(w, "It keeps (--wipe-data deletes it):", p.Keep)
	return nil
}

func (r resetResult) write(w io.Writer) error {
	switch {
	case r.Undone > 0:
		fmt.Fprintf(w, "taken back: %d steps\n", r.Undone)
	case len(r.Deleted) == 0:
		fmt.Fprintln(w, "nothing to take back: airgap did not begin anything on this host")
	}
	writePaths(w, "deleted:", r.Deleted)
	writePaths(w, "kept (airgap reset --wipe-data deletes it):", r.Kept)
	if r.Listed != "" {
		fmt.Fprintf(w, "the cluster still lists node %s: on a control-plane host, kubectl delete node %s\n", r.Listed, r.Listed)
	}
	return nil
}

func writePaths(w io.Writer, heading string, paths []string) {
	if len(paths) == 0 {
		return
	}
	fmt.Fprintln(w, heading)
	for _, p := range paths {
		fmt.Fprintln(w, "  "+p)
	}
}

// takeBack undoes the steps, and deletes the data if that is wanted. The
// journal goes when all else is gone: as long as it is there, a reset goes on.
func (a *app) takeBack(ctx context.Context, journal *step.Journal, steps []step.Step, wipe bool) (resetResult, error) {
	result := resetResult{Undone: len(steps)}
	p := a.newProgress()
	err := step.Undo(ctx, journal, steps, func(e step.Event) { showStep(p, e) })
	if err != nil {
		return result, err
	}
	if result.Listed, err = kubeadm.StillListed(site.ThisMachine()); err != nil {
		return result, err
	}
	data, err := dataHere(false)
	if err != nil {
		return result, err
	}
	if !wipe {
		result.Kept = data
		return result, forget("/")
	}
	result.Deleted = data
	if err := wipeData(ctx); err != nil {
		return result, err
	}
	return result, forget("/")
}

// dataHere lists the directories with data of a cluster that is, or was, on
// this host.
func dataHere(standing bool) ([]string, error) {
	m := site.ThisMachine()
	list := kubeadm.Kept
	if standing {
		list = kubeadm.Data
	}
	data, err := list(m)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{site.StoreDir, site.PushedDir, site.BackupDir, site.UpgradeDir, site.LogDir} {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
			data = append(data, dir)
		}
	}
	slices.Sort(data)
	return data, nil
}

func wipeData(ctx context.Context) error {
	if err := kubeadm.WipeData(ctx, site.ThisMachine()); err != nil {
		return err
	}
	err := host.EmptyTree(site.LogDir)
	for _, dir := range ownData() {
		err = errors.Join(err, host.RemoveTree(dir))
	}
	return err
}

// forget removes what airgap keeps in mind of the host whose file system begins
// at root, also its last upgrade, which its next cluster knows nothing of; the backups of
// before that one stay. Drafts that a killed run left in UndoDir go along. The lock goes
// after the journal, so that nobody begins another one before.
func forget(root string) error {
	if err := host.RemoveTree(filepath.Join(root, site.UndoDir)); err != nil {
		return err
	}
	site.RemoveAbandoned(filepath.Join(root, site.StateDir, "airgap-restore-")) // a killed restore's copy of the backup
	for _, name := range []string{upgraderecord.UpgradeRecordFile, upgraderecord.UpgradeBaselineFile} {
		if err := host.Remove(filepath.Join(root, name)); err != nil {
			return err
		}
	}
	if err := host.Remove(filepath.Join(root, site.UpgradeDir)); err != nil && !errors.Is(err, fs.ErrExist) { // it has backups
		return err
	}
	for _, name := range []string{kubeadm.JoinConf, site.KnownHostsFile, site.MeasuredFile, site.JournalFile, site.LockFile} {
		if err := host.Remove(filepath.Join(root, name)); err != nil {
			return err
		}
	}
	return nil
}
