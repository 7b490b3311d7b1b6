package dnf

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/internal/step"
)

// VersionLock prevents dnf from replacing packages with another build. It uses the
// dnf plugin versionlock. If the plugin is not installed or is disabled, it does
// nothing.
type VersionLock struct {
	Root     string        // root of the host's file system; "" is "/"
	UndoFile string        // record of the added lines, for the undo
	Packages []nevra.NEVRA // to lock
}

// VersionLockList is the default path of the plugin's list.
const VersionLockList = "/etc/dnf/plugins/versionlock.list"

const (
	versionlockConf = "/etc/dnf/plugins/versionlock.conf"
	lockComment     = "# Locked by airgap: these packages stay with the cluster's version of Kubernetes; airgap reset unlocks them."
)

// VersionLockStep locks the packages. Undo removes only the lines that it added.
func VersionLockStep(l VersionLock) step.Step {
	return step.Step{
		Name: "versionlock", Title: "Lock the packages of Kubernetes in dnf",
		Done: func(context.Context) (bool, error) {
			add, drop, err := l.pending()
			return len(add)+len(drop) == 0, err
		},
		Plan: func(context.Context) ([]string, error) { return l.plan() },
		Run:  func(context.Context) error { return l.lock() },
		Undo: func(context.Context) error { return l.unlock() },
	}
}

// lines returns the locks in the format of dnf versionlock.
func (l VersionLock) lines() []string {
	var lines []string
	for _, p := range l.Packages {
		p.Arch = "*"
		lines = append(lines, p.String())
	}
	return lines
}

func (l VersionLock) path(name string) string { return filepath.Join("/", l.Root, name) }

// States of the plugin in which it locks nothing. The node report has the same.
const (
	PluginMissing = "not installed"
	PluginOff     = "off"
)

// Plugin returns why the plugin locks nothing: it is not installed, or it is off; "" if it locks packages.
func (l VersionLock) Plugin() (string, error) {
	if list, err := l.list(); err != nil || list != "" {
		return "", err
	}
	if _, err := os.Stat(l.path(versionlockConf)); errors.Is(err, fs.ErrNotExist) {
		return PluginMissing, nil
	}
	return PluginOff, nil
}

// list returns the path of the plugin's list, "" if the plugin is not active.
func (l VersionLock) list() (string, error) {
	data, err := os.ReadFile(l.path(versionlockConf))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	values := map[string]string{"enabled": "1"}
	for line := range strings.Lines(string(data)) {
		if key, value, is := strings.Cut(line, "="); is && !strings.HasPrefix(strings.TrimSpace(key), "#") {
			values[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	if slices.Contains([]string{"0", "no", "false", "off"}, strings.ToLower(values["enabled"])) {
		return "", nil
	}
	return values["locklist"], nil
}

// pending returns the lines to add, and the lines to drop, which airgap added for an
// earlier release.
func (l VersionLock) pending() (add, drop []string, err error) {
	list, err := l.list()
	if err != nil || list == "" {
		return nil, nil, err
	}
	have, err := readLines(l.path(list))
	if err != nil {
		return nil, nil, err
	}
	record, err := l.record()
	if err != nil {
		return nil, nil, err
	}
	want := l.lines()
	for _, line := range want {
		if !slices.Contains(have, line) {
			add = append(add, line)
		}
	}
	for _, line := range record.Added {
		if slices.Contains(have, line) && !slices.Contains(want, line) && line != lockComment {
			drop = append(drop, line)
		}
	}
	return add, drop, nil
}

func (l VersionLock) plan() ([]string, error) {
	list, err := l.list()
	if err != nil {
		return nil, err
	}
	add, drop, err := l.pending()
	var changes []string
	for _, line := range add {
		changes = append(changes, "add "+line+" to "+list)
	}
	for _, line := range drop {
		changes = append(changes, "remove "+line+" from "+list)
	}
	return changes, err
}

// lockRecord has the lines that airgap added to a list, and the list before that.
type lockRecord struct {
	List   string   `json:"list"`
	Before []byte   `json:"before"`
	Absent bool     `json:"absent,omitempty"`
	Added  []string `json:"added"`
}

func (l VersionLock) record() (lockRecord, error) { return host.ReadJSON[lockRecord](l.UndoFile) }

// remember records the lines before they are added.
func (l VersionLock) remember(list string, add []string) error {
	r, err := l.record()
	if err != nil {
		return err
	}
	if r.List == "" {
		r.List = list
		r.Before, err = os.ReadFile(l.path(list))
		r.Absent = errors.Is(err, fs.ErrNotExist)
		if err != nil && !r.Absent {
			return err
		}
	}
	for _, line := range append([]string{lockComment}, add...) {
		if !slices.Contains(r.Added, line) {
			r.Added = append(r.Added, line)
		}
	}
	return host.WriteJSON(l.UndoFile, r)
}

func (l VersionLock) lock() error {
	list, err := l.list()
	if err != nil || list == "" {
		return err
	}
	add, drop, err := l.pending()
	if err != nil {
		return err
	}
	if err := l.remember(list, add); err != nil {
		return err
	}
	have, err := readLines(l.path(list))
	if err != nil {
		return err
	}
	have = without(have, drop)
	if !slices.Contains(have, lockComment) {
		have = append(have, lockComment)
	}
	return writeLines(l.path(list), append(have, add...))
}

// unlock restores the list byte for byte. If the operator has changed the list, it
// removes only airgap's lines.
func (l VersionLock) unlock() error {
	r, err := l.record()
	if err != nil || r.List == "" {
		return err
	}
	have, err := readLines(l.path(r.List))
	if err != nil {
		return err
	}
	left := without(have, r.Added)
	switch {
	case !slices.Equal(left, split(r.Before)):
		err = writeLines(l.path(r.List), left)
	case r.Absent:
		err = host.Remove(l.path(r.List))
	case len(left) < len(have):
		err = overwrite(l.path(r.List), r.Before)
	}
	if err != nil {
		return err
	}
	return host.Remove(l.UndoFile)
}

func without(lines, dropped []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(dropped, line) })
}

func readLines(name string) ([]string, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return split(data), err
}

func split(data []byte) []string {
	var lines []string
	for line := range bytes.Lines(data) {
		lines = append(lines, strings.TrimRight(string(line), "\n"))
	}
	return lines
}

func writeLines(name string, lines []string) error {
	return overwrite(name, []byte(strings.Join(append(lines, ""), "\n")))
}

// overwrite keeps the file's mode.
func overwrite(name string, data []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	return host.WriteFile(name, data, mode)
}

// Unlocked returns the packages for which dnf has no lock: also if the plugin is missing, and if they never had one.
func (l VersionLock) Unlocked() ([]string, error) {
	list, err := l.list()
	if err != nil {
		return nil, err
	}
	var have []string
	if list != "" {
		if have, err = readLines(l.path(list)); err != nil {
			return nil, err
		}
	}
	var lost []string
	for i, line := range l.lines() {
		if !slices.Contains(have, line) {
			lost = append(lost, l.Packages[i].String())
		}
	}
	return lost, nil
}
