package leave

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"airgap.dev/airgap/internal/host"
)

// podCgroups are the outermost cgroups of pods: one with cgroup v2, one for each
// controller with v1.
func (m Member) podCgroups() ([]string, error) {
	var all []string
	for _, pattern := range []string{"/sys/fs/cgroup/kubepods*", "/sys/fs/cgroup/*/kubepods*"} {
		found, err := filepath.Glob(m.Path(pattern))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// removeCgroups removes those of the pods. The runtime leaves the outer ones,
// as slices of systemd or, with cgroup v1, as bare directories.
func (m Member) removeCgroups(ctx context.Context) error {
	if err := m.thaw(); err != nil {
		return err
	}
	if err := m.Run(ctx, "systemctl", "stop", "kubepods.slice"); err != nil {
		return fmt.Errorf("stop what is left of the pods: %w", err)
	}
	found, err := m.podCgroups()
	if err != nil {
		return err
	}
	for _, dir := range found {
		if err := removeCgroup(dir); err != nil {
			return &host.Failure{What: "remove the pods' cgroups", Err: err, Next: "processes of pods still run: systemd-cgls " + filepath.Base(dir) + " shows them; then run the same command again"}
		}
	}
	return nil
}

// thaw lets the processes of pods go on that were stopped in the freezer of cgroup v1, where
// no signal reaches them, and systemd's waits in vain: a runc that is killed while it makes a
// container leaves it so, and the runtime knows nothing of it.
func (m Member) thaw() error {
	outer, err := filepath.Glob(m.Path("/sys/fs/cgroup/freezer/kubepods*"))
	if err != nil {
		return err
	}
	var freezers []string
	for _, top := range outer {
		err := filepath.WalkDir(top, func(file string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "freezer.state" {
				freezers = append(freezers, file)
			}
			return host.IgnoreMissing(err)
		})
		if err != nil {
			return fmt.Errorf("look for stopped processes of pods: %w", err)
		}
	}
	for _, file := range freezers {
		err := os.WriteFile(file, []byte("THAWED"), 0)
		if host.IgnoreMissing(err) != nil && !errors.Is(err, syscall.ENODEV) { // a container that goes takes its cgroup along
			return fmt.Errorf("let stopped processes of pods go on: %w", err)
		}
	}
	return nil
}

// removeCgroup removes the inner ones first. Their files cannot be removed and
// go along.
func removeCgroup(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return host.IgnoreMissing(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := removeCgroup(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return host.IgnoreMissing(os.Remove(dir))
}
