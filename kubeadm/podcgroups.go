package kubeadm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// podCgroups are the outermost cgroups of pods: one with cgroup v2, one for each
// controller with v1.
func (m Machine) podCgroups() ([]string, error) {
	var all []string
	for _, pattern := range []string{"/sys/fs/cgroup/kubepods*", "/sys/fs/cgroup/*/kubepods*"} {
		found, err := filepath.Glob(m.path(pattern))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// podsRun reports whether any process of a pod runs on this host.
func (m Machine) podsRun() (bool, error) {
	found, err := m.podCgroups()
	if err != nil {
		return false, err
	}
	for _, dir := range found {
		if runs, err := hasProcess(dir); err != nil || runs {
			return runs, err
		}
	}
	return false, nil
}

func hasProcess(cgroup string) (bool, error) {
	runs := false
	err := filepath.WalkDir(cgroup, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return ignoreMissing(err) // cgroups go as pods end
		}
		if d.Name() != "cgroup.procs" {
			return nil
		}
		pids, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENODEV) {
			return fmt.Errorf("list the processes of pods: %w", err)
		}
		if len(bytes.TrimSpace(pids)) > 0 {
			runs = true
			return fs.SkipAll
		}
		return nil
	})
	return runs, err
}

// removeCgroups removes those of the pods. The runtime leaves the outer ones,
// as slices of systemd or, with cgroup v1, as bare directories.
func (m Machine) removeCgroups(ctx context.Context) error {
	if err := m.run(ctx, "systemctl", "stop", "kubepods.slice"); err != nil {
		return fmt.Errorf("stop what is left of the pods: %w", err)
	}
	found, err := m.podCgroups()
	if err != nil {
		return err
	}
	for _, dir := range found {
		if err := removeCgroup(dir); err != nil {
			return &Failure{What: "remove the pods' cgroups", Err: err, Next: "processes of pods still run: systemd-cgls " + filepath.Base(dir) + " shows them; then run airgap reset again"}
		}
	}
	return nil
}

// removeCgroup removes the inner ones first. Their files cannot be removed and
// go along.
func removeCgroup(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ignoreMissing(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := removeCgroup(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return ignoreMissing(os.Remove(dir))
}
