package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// Step points the runtime at the registries. Undo restores the earlier files.
func Step(m Config) step.Step {
	runtime := "containerd"
	if m.CRIO {
		runtime = "CRI-O"
	}
	return step.Step{
		Name:  "mirror",
		Title: "Point " + runtime + " at the registry",
		Done:  func(context.Context) (bool, error) { return m.UpToDate() },
		Plan:  func(context.Context) ([]string, error) { return m.plan() },
		Run:   func(context.Context) error { return m.Write() },
		Undo:  func(context.Context) error { return m.Remove() },
	}
}

// RemoveStep is Undo of Step for each of the configurations.
func RemoveStep(all ...Config) step.Step {
	return step.Step{Name: "mirror", Undo: func(context.Context) error {
		for _, m := range all {
			if err := m.Remove(); err != nil {
				return err
			}
		}
		return nil
	}}
}

// plan lists the changes of Write, for --dry-run.
func (m Config) plan() ([]string, error) {
	want, err := m.files()
	if errors.Is(err, fs.ErrNotExist) { // the CA certificate does not exist yet
		return []string{"write " + m.Default() + " (new)"}, nil
	}
	if err != nil {
		return nil, err
	}
	var changes []string
	for _, file := range slices.Sorted(maps.Keys(want)) {
		if have, err := os.ReadFile(file); err == nil && file != m.CAFile && !isManaged(have) {
			changes = append(changes, fmt.Sprintf("keep the existing file as %s", backupName(file)))
		}
	}
	written, err := host.PlanFiles(want, 0o644)
	stale, unread := m.stale(want)
	changes = append(changes, written...)
	for _, file := range stale {
		changes = append(changes, "remove "+file)
	}
	if _, err := os.Stat(m.Default()); m.CRIO && err == nil && len(changes) > 0 {
		changes = append(changes, "restart crio.service") // the runtime's step restarts it, because it reads the files only at start
	}
	return changes, errors.Join(err, unread)
}
