package kubeadm

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

const modesUndo = host.UndoDir + "/modes.json"

// Permissions restricts the modes of files that kubeadm and packages leave open to every user
// of the host, according to the baseline.
func Permissions(m Machine, c Config) step.Step {
	return step.Step{
		Name: "permissions", Title: "Restrict access to Kubernetes files",
		Done: func(context.Context) (bool, error) {
			open, err := m.openFiles(c)
			return len(open) == 0, err
		},
		Plan: func(context.Context) ([]string, error) { return m.planPermissions(c) },
		Run:  func(context.Context) error { return m.closeFiles(c) },
		Undo: func(context.Context) error { return m.reopenFiles() },
	}
}

// file is a file that matches a Control's pattern.
type file struct {
	path string // without Machine.Root
	mode fs.FileMode
	want fs.FileMode
	root bool // root owns it
}

func (f file) holds() bool { return f.root && f.mode&^f.want == 0 }

func (f file) String() string {
	owner := ""
	if !f.root {
		owner = " not owned by root"
	}
	return fmt.Sprintf("%04o%s %s", f.mode, owner, f.path)
}

// matches are the files of this host that match the pattern of a Control.
func (m Machine) matches(c Control) ([]file, error) {
	want, _ := c.Want.(fs.FileMode)
	found, err := filepath.Glob(m.Path(c.Name))
	if err != nil {
		return nil, err
	}
	var files []file
	for _, name := range found {
		info, err := os.Lstat(name)
		if err != nil {
			return nil, err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			continue
		}
		at := "/" + strings.TrimPrefix(strings.TrimPrefix(name, m.Path("/")), "/")
		owner, _ := info.Sys().(*syscall.Stat_t)
		files = append(files, file{at, info.Mode().Perm(), want, owner != nil && owner.Uid == 0 && owner.Gid == 0})
	}
	return files, nil
}

// openFiles are the files with more permissions than the baseline allows.
func (m Machine) openFiles(c Config) ([]file, error) {
	var open []file
	for _, control := range fileControls(c) {
		files, err := m.matches(control)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if f.mode&^f.want != 0 {
				open = append(open, f)
			}
		}
	}
	return open, nil
}

func (m Machine) planPermissions(c Config) ([]string, error) {
	open, err := m.openFiles(c)
	var changes []string
	for _, f := range open {
		changes = append(changes, fmt.Sprintf("%s %04o → %04o", f.path, f.mode, f.mode&f.want))
	}
	return changes, err
}

// closeFiles saves the current modes before it changes them, so that reopenFiles can restore
// the files of packages.
func (m Machine) closeFiles(c Config) error {
	open, err := m.openFiles(c)
	if err != nil {
		return err
	}
	before, err := host.ReadJSON[map[string]fs.FileMode](m.Path(modesUndo))
	if err != nil {
		return err
	}
	modes := map[string]fs.FileMode{}
	for _, f := range open {
		modes[f.path] = f.mode
	}
	maps.Copy(modes, before) // the oldest mode is the original one
	if err := host.WriteJSON(m.Path(modesUndo), modes); err != nil {
		return err
	}
	for _, f := range open {
		if err := os.Chmod(m.Path(f.path), f.mode&f.want); err != nil {
			return fmt.Errorf("change the mode of %s: %w", f.path, err)
		}
	}
	return nil
}

// ClosedFiles returns the files with a mode that Permissions has changed, sorted. rpm -V reports
// them.
func ClosedFiles(m Machine) ([]string, error) {
	modes, err := host.ReadJSON[map[string]fs.FileMode](m.Path(modesUndo))
	return slices.Sorted(maps.Keys(modes)), err
}

func (m Machine) reopenFiles() error {
	modes, err := host.ReadJSON[map[string]fs.FileMode](m.Path(modesUndo))
	if err != nil {
		return err
	}
	for name, mode := range modes {
		if err := os.Chmod(m.Path(name), mode); host.IgnoreMissing(err) != nil {
			return fmt.Errorf("restore the mode of %s: %w", name, err)
		}
	}
	return host.Remove(m.Path(modesUndo))
}
