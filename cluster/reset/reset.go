// Package reset undoes the recorded changes of airgap on this host.
package reset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"airgap.dev/airgap/cluster/detach"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/leave"
)

// Options are the flags of airgap reset.
type Options struct {
	Wipe    bool                              // also delete data
	Agree   func(context.Context, Plan) error // asks for confirmation before the first change; nil: no question
	Console ui.Console
}

// Plan is the result of --dry-run.
type Plan struct {
	Steps  []plannedStep `json:"steps"` // in the order of the undo
	Delete []string      `json:"delete,omitempty"`
	Keep   []string      `json:"keep,omitempty"`
}

type plannedStep struct {
	Step  string `json:"step"`
	Title string `json:"title"`
}

// Result lists the changes.
type Result struct {
	Undone  int      `json:"undone"`            // number of steps
	Deleted []string `json:"deleted,omitempty"` // directories with data
	Kept    []string `json:"kept,omitempty"`
	Listed  string   `json:"listed,omitempty"` // Node that must be deleted by hand
}

// Run undoes the recorded changes of airgap on this host.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := hostcheck.MustBeRoot("reset"); err != nil {
		return Result{}, err
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return Result{}, err
	}
	defer release()
	return Locked(ctx, o)
}

// Locked is Run for a caller that has the lock of this host.
func Locked(ctx context.Context, o Options) (Result, error) {
	j := journal.Open()
	steps, plan, err := planOf(j, o.Wipe)
	if err != nil {
		return Result{}, err
	}
	if len(plan.Steps)+len(plan.Delete) > 0 && o.Agree != nil {
		if err := o.Agree(ctx, plan); err != nil {
			return Result{}, err
		}
	}
	result, err := undo(ctx, j, steps, o.Wipe, o.Console.Progress())
	detach.Sweep(host.Machine{Host: host.Local{}})
	return result, advice.Add(err, "fix the error and run airgap reset again: completed steps do not run again")
}

// DryRun returns the changes that Run would make.
func DryRun(wipe bool) (Plan, error) {
	if err := hostcheck.MustBeRoot("reset"); err != nil {
		return Plan{}, err
	}
	_, plan, err := planOf(step.OpenJournal(site.JournalFile), wipe)
	return plan, err
}

// planOf returns the steps to undo. It returns an error if the reset would delete data outside the cluster.
func planOf(j *step.Journal, wipe bool) ([]step.Step, Plan, error) {
	var plan Plan
	steps, err := j.Undoable(Steps(wipe))
	if err != nil {
		return nil, plan, err
	}
	for _, s := range slices.Backward(steps) {
		plan.Steps = append(plan.Steps, plannedStep{s.Name, s.Title})
	}
	data, err := dataHere(len(steps) > 0)
	if err != nil {
		return nil, plan, err
	}
	if wipe {
		plan.Delete = data
	} else {
		plan.Keep = data
	}
	if err := refused(len(steps) > 0, wipe); err != nil {
		return nil, plan, fmt.Errorf("airgap reset: nothing was changed: %w", err)
	}
	return steps, plan, nil
}

// refused returns an error if a reset would delete data that does not belong to the cluster.
func refused(standing, wipe bool) error {
	m := site.ThisMachine()
	if standing {
		if err := leave.ResetRefused(m.Member, wipe); err != nil {
			return err
		}
	}
	if !wipe {
		return nil
	}
	for _, dir := range ownData() {
		if err := host.TreeRefused(dir); err != nil {
			return advice.Add(err, "move the contents to another place and remove the link or the mount; then run airgap reset --wipe-data again")
		}
	}
	return leave.WipeRefused(m.Member)
}

// ownData lists airgap's directories with data. LogDir is not among them: it belongs to airgap.rpm.
func ownData() []string {
	return []string{site.StoreDir, site.PushedDir, site.BackupDir, site.UpgradeDir, leave.KeptDir}
}

func (p Plan) Write(w io.Writer) error {
	if len(p.Steps)+len(p.Delete) == 0 {
		fmt.Fprintln(w, "nothing to undo: airgap has changed nothing on this host")
	} else {
		fmt.Fprintln(w, "airgap reset undoes these steps in this order:")
	}
	for _, s := range p.Steps {
		fmt.Fprintf(w, "  %-16s %s\n", s.Step, s.Title)
	}
	writePaths(w, "It deletes:", p.Delete)
	writePaths(w, "It keeps (--wipe-data deletes it):", p.Keep)
	return nil
}

func (r Result) Write(w io.Writer) error {
	switch {
	case r.Undone > 0:
		fmt.Fprintf(w, "undone: %d steps\n", r.Undone)
	case len(r.Deleted) == 0:
		fmt.Fprintln(w, "nothing to undo: airgap has changed nothing on this host")
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

// undo runs the undo of the steps, and deletes the data if wipe is set. It removes the journal
// last, so that an interrupted reset continues.
func undo(ctx context.Context, j *step.Journal, steps []step.Step, wipe bool, p ui.Progress) (Result, error) {
	result := Result{Undone: len(steps)}
	err := step.Undo(ctx, j, steps, func(e step.Event) { journal.Show(p, e) })
	if err != nil {
		return result, errors.Join(err, j.End(err))
	}
	if err := forgetFailed(ctx, host.Local{}); err != nil {
		return result, err
	}
	if result.Listed, err = leave.RemainingNode(site.ThisMachine().Member); err != nil {
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

// dataHere lists the directories with data of a current or former cluster on this host.
func dataHere(standing bool) ([]string, error) {
	m := site.ThisMachine()
	list := leave.Kept
	if standing {
		list = leave.Data
	}
	data, err := list(m.Member)
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
	if err := leave.WipeData(ctx, site.ThisMachine().Member); err != nil {
		return err
	}
	err := host.EmptyTree(site.LogDir)
	for _, dir := range ownData() {
		err = errors.Join(err, host.RemoveTree(dir))
	}
	return err
}

// forget removes airgap's state files below root, with the record of the last upgrade and files
// that a killed run left in UndoDir. Backups from before the upgrade stay. It removes the lock
// after the journal, so that no other run starts in between.
func forget(root string) error {
	if err := host.RemoveTree(filepath.Join(root, site.UndoDir)); err != nil {
		return err
	}
	site.RemoveAbandoned(filepath.Join(root, site.StateDir, "airgap-restore-")) // backup copy of a killed restore
	if err := host.RemoveTree(filepath.Join(root, site.UpgradeDir, upgraderecord.RanDir)); err != nil {
		return err
	}
	for _, name := range []string{upgraderecord.UpgradeRecordFile, upgraderecord.UpgradeBaselineFile, filepath.Join(site.UpgradeDir, upgraderecord.ElsewhereFile)} {
		if err := host.Remove(filepath.Join(root, name)); err != nil {
			return err
		}
	}
	if err := host.Remove(filepath.Join(root, site.UpgradeDir)); err != nil && !errors.Is(err, fs.ErrExist) { // it contains backups
		return err
	}
	for _, name := range []string{jointoken.JoinConf, site.KnownHostsFile, site.MeasuredFile, site.OwedFile, site.OwedUnsent, site.OthersReset, site.JournalFile, site.LockFile} {
		if err := host.Remove(filepath.Join(root, name)); err != nil {
			return err
		}
	}
	return nil
}
