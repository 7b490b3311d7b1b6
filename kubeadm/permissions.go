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

// Permissions closes files that kubeadm and packages leave open to every user
// of the host, as the baseline has it.
func Permissions(m Machine, c Config) step.Step {
	return step.Step{
		Name: "permissions", Title: "Close files that others could read",
		Done: func(context.Context) (bool, error) {
			wide, err := m.wideOpen(c)
			return len(wide) == 0, err
		},
		Plan: func(context.Context) ([]string, error) { return m.planPermissions(c) },
		Run:  func(context.Context) error { return m.closeFiles(c) },
		Undo: func(context.Context) error { return m.reopenFiles() },
	}
}

// file is one that fits a Control's pattern.
type file struct {
	path string // before Machine.Root
	mode fs.FileMode
	want fs.FileMode
	root bool // it is root's
}

func (f file) holds() bool { return f.root && f.mode&^f.want == 0 }

func (f file) String() string {
	owner := ""
	if !f.root {
		owner = " not root's"
	}
	return fmt.Sprintf("%04o%s %s", f.mode, owner, f.path)
}

// matches are the files of this host that fit a Control of Files.
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

func (m Machine) wideOpen(c Config) ([]file, error) {
	var wide []file
	for _, control := range fileControls(c) {
		files, err := m.matches(control)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if f.mode&^f.want != 0 {
				wide = append(wide, f)
			}
		}
	}
	return wide, nil
}

func (m Machine) planPermissions(c Config) ([]string, error) {
	wide, err := m.wideOpen(c)
	var changes []string
	for _, f := range wide {
		changes = append(changes, fmt.Sprintf("%s %04o → %04o", f.path, f.mode, f.mode&f.want))
	}
	return changes, err
}

// closeFiles writes the modes from before down first, for the files of
// packages that were there before us.
func (m Machine) closeFiles(c Config) error {
	wide, err := m.wideOpen(c)
	if err != nil {
		return err
	}
	before, err := host.ReadJSON[map[string]fs.FileMode](m.Path(modesUndo))
	if err != nil {
		return err
	}
	modes := map[string]fs.FileMode{}
	for _, f := range wide {
		modes[f.path] = f.mode
	}
	maps.Copy(modes, before) // the oldest is the host's own
	if err := host.WriteJSON(m.Path(modesUndo), modes); err != nil {
		return err
	}
	for _, f := range wide {
		if err := os.Chmod(m.Path(f.path), f.mode&f.want); err != nil {
			return fmt.Errorf("close %s: %w", f.path, err)
		}
	}
	return nil
}

// ClosedFiles are those whose modes Permissions has changed: rpm finds another
// one than its package has.
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
			return fmt.Errorf("give %s back its mode: %w", name, err)
		}
	}
	return host.Remove(m.Path(modesUndo))
}
