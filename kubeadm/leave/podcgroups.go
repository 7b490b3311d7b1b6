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

// podCgroups are the top cgroups of pods: one with cgroup v2, one per controller with v1.
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

// removeCgroups removes the cgroups of pods. The runtime leaves the top ones, as slices of systemd
// or, with cgroup v1, as directories.
func (m Member) removeCgroups(ctx context.Context) error {
	if err := m.thaw(); err != nil {
		return err
	}
	if err := m.Run(ctx, "systemctl", "stop", "kubepods.slice"); err != nil {
		return fmt.Errorf("stop kubepods.slice: %w", err)
	}
	found, err := m.podCgroups()
	if err != nil {
		return err
	}
	for _, dir := range found {
		if err := removeCgroup(dir); err != nil {
			return &host.Failure{What: "remove the pods' cgroups", Err: err, Next: "stop the remaining processes of pods, which systemd-cgls " + filepath.Base(dir) + " lists, then run the same command again"}
		}
	}
	return nil
}

// thaw resumes frozen processes of pods in the freezer of cgroup v1, which receive no signals, so
// that systemd cannot stop them. A runc that is killed during the creation of a container leaves
// it frozen, and the runtime does not notice.
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
			return fmt.Errorf("find frozen processes of pods: %w", err)
		}
	}
	for _, file := range freezers {
		err := os.WriteFile(file, []byte("THAWED"), 0)
		if host.IgnoreMissing(err) != nil && !errors.Is(err, syscall.ENODEV) { // the cgroup of an ended container no longer exists
			return fmt.Errorf("resume frozen processes of pods: %w", err)
		}
	}
	return nil
}

// removeCgroup removes a cgroup after its children. Its files cannot be removed: the kernel
// removes them with the directory.
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
