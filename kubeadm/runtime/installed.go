package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"airgap.dev/airgap/internal/host"
)

// filesHold reports whether these releases are installed, byte for byte, and
// nothing is left of the installing.
func filesHold(m host.Machine, files []File) (bool, error) {
	if _, err := os.Stat(m.Path(stagingDir)); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	record, err := readInstalled(m)
	if err != nil {
		return false, err
	}
	for _, f := range files {
		if !slices.Contains(record.Releases, f.Name) {
			return false, nil
		}
	}
	for name, want := range record.Files {
		have, err := host.SHA256(m.Path(path.Join(host.BinDir, name)))
		if err != nil || have != want {
			return false, host.IgnoreMissing(err)
		}
	}
	return true, nil
}

func removeRuntime(m host.Machine) error {
	record, err := readInstalled(m)
	if err != nil {
		return err
	}
	for name := range record.Files {
		if err := host.Remove(m.Path(path.Join(host.BinDir, name))); err != nil {
			return err
		}
	}
	return host.Remove(m.Path(installedFile))
}

// refuseForeignRuntime stops before a runtime that somebody else set up is given our
// configuration, and before a second one of ours joins the first: what runs under it
// would be lost.
func refuseForeignRuntime(m host.Machine, e engine) error {
	for _, other := range engines() {
		if other.unit != e.unit && isOurs(m, other.unit) {
			return &host.Failure{
				What: "install " + e.title,
				Err:  fmt.Errorf("airgap has installed %s on this host%s, and its pods are there", other.title, other.origin()),
				Next: "airgap reset this host first, and install it again; or " + other.setting() + " in airgap.yaml",
			}
		}
	}
	for _, file := range e.mayNotBeThere() {
		if _, err := os.Stat(m.Path(file)); err == nil && !isOurs(m, file) {
			return e.foreign(file)
		}
	}
	return nil
}

// mayNotBeThere are files that say that somebody else has set the runtime up. A package
// brings its own unit and configuration: whose package it is, RuntimeOptions.Foreign tells.
func (e engine) mayNotBeThere() []string {
	unit := e.name + ".service"
	if e.rpm != "" {
		return []string{e.unit, path.Join("/etc/systemd/system", unit)}
	}
	return []string{e.config, e.unit, path.Join("/usr/lib/systemd/system", unit), path.Join("/lib/systemd/system", unit)}
}

// origin is where it comes from, where that is not the usual place.
func (e engine) origin() string {
	if e.rpm == "" {
		return ""
	}
	return " from the package " + e.rpm
}

// isOurs reports whether airgap wrote a file of the runtime.
func isOurs(m host.Machine, file string) bool {
	text, err := os.ReadFile(m.Path(file))
	return err == nil && bytes.HasPrefix(text, []byte(ours))
}

// removeOurs leaves a file of somebody else's alone.
func removeOurs(m host.Machine, file string) error {
	if !isOurs(m, file) {
		return nil
	}
	return host.Remove(m.Path(file))
}

func (e engine) foreign(file string) error {
	return &host.Failure{
		What: "install " + e.title,
		Err:  fmt.Errorf("this host has a %s of its own: %s was not written by airgap", e.title, file),
		Next: "remove that " + e.title + " (rpm -qf " + file + " names its package), or use a host without one; podman may stay",
	}
}
