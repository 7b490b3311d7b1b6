package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

const labelsUndo = host.UndoDir + "/selinux.json"

// LabelsStep makes SELinux label the programs in BinDir like those in /usr/bin, where the policy has
// rules for the runtimes, their helpers and runc. Without semanage, as on a minimal system, they
// keep the type of programs below /opt. The step does nothing if SELinux is disabled.
//
// All other files of airgap have the correct types of the policy: its services run from /usr, data
// is below /var/lib and settings are below /etc. The policy has no rule for /var/lib/crio: CRI-O
// labels its files there itself.
func LabelsStep(m host.Machine) step.Step {
	l := labels{m}
	return step.Step{
		Name: "selinux", Title: "Label the runtime's programs for SELinux",
		Done: func(ctx context.Context) (bool, error) {
			changes, err := l.plan(ctx)
			return len(changes) == 0, err
		},
		Plan: l.plan, Run: l.set, Undo: l.undo,
	}
}

type labels struct{ m host.Machine }

// labelsRecord records that airgap has added the rule.
type labelsRecord struct {
	Added bool `json:"added"`
}

func (l labels) on() bool {
	_, err := fs.Stat(l.m.Host.FS(), "sys/fs/selinux/enforce")
	return !errors.Is(err, fs.ErrNotExist)
}

// known reports whether the rule exists; can reports whether semanage is installed.
func (l labels) known(ctx context.Context) (known, can bool, err error) {
	out, err := l.m.Host.Run(ctx, host.Cmd{Name: "semanage", Args: []string{"fcontext", "--list", "--locallist", "--noheading"}})
	if errors.Is(err, exec.ErrNotFound) {
		return false, false, nil
	}
	if err != nil {
		return false, true, fmt.Errorf("list the site's file contexts: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Join(strings.Fields(line), " ") == host.BinDir+" = /usr/bin" {
			return true, true, nil
		}
	}
	return false, true, nil
}

func (l labels) plan(ctx context.Context) ([]string, error) {
	if !l.on() {
		return nil, nil
	}
	known, can, err := l.known(ctx)
	if err != nil {
		return nil, err
	}
	var changes []string
	if can && !known {
		changes = append(changes, "label "+host.BinDir+" as /usr/bin (semanage fcontext)")
	}
	wrong, err := l.wrong(ctx)
	return append(changes, wrong...), err
}

// wrong returns the files with a label that differs from the policy's.
func (l labels) wrong(ctx context.Context) ([]string, error) {
	if _, err := os.Stat(l.m.Path(host.BinDir)); err != nil {
		return nil, host.IgnoreMissing(err)
	}
	out, err := l.m.Host.Run(ctx, host.Cmd{Name: "restorecon", Args: []string{"-R", "-n", "-v", l.m.Path(path.Dir(host.BinDir))}, Env: []string{"LC_ALL=C"}})
	if err != nil {
		return nil, fmt.Errorf("compare the labels of %s: %w", host.BinDir, err)
	}
	var files []string
	for line := range strings.Lines(string(out)) {
		files = append(files, strings.TrimSpace(line))
	}
	return files, nil
}

func (l labels) set(ctx context.Context) error {
	known, can, err := l.known(ctx)
	if err != nil {
		return err
	}
	if can && !known {
		if err := host.WriteJSON(l.m.Path(labelsUndo), labelsRecord{Added: true}); err != nil {
			return err
		}
		if err := l.m.Run(ctx, "semanage", "fcontext", "--add", "--equal", "/usr/bin", host.BinDir); err != nil {
			return fmt.Errorf("add a file context: %w", err)
		}
	}
	if _, err := os.Stat(l.m.Path(host.BinDir)); err != nil {
		return host.IgnoreMissing(err)
	}
	return relabel(ctx, l.m)
}

// undo removes the rule. Its files no longer exist then.
func (l labels) undo(ctx context.Context) error {
	record, err := host.ReadJSON[labelsRecord](l.m.Path(labelsUndo))
	if err != nil || !record.Added {
		return err
	}
	known, _, err := l.known(ctx)
	if err != nil {
		return err
	}
	if known {
		if err := l.m.Run(ctx, "semanage", "fcontext", "--delete", "--equal", "/usr/bin", host.BinDir); err != nil {
			return fmt.Errorf("remove a file context: %w", err)
		}
	}
	return host.Remove(l.m.Path(labelsUndo))
}
