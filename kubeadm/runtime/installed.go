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

// filesHold reports whether these releases are installed, byte for byte, and the staging directory
// does not exist.
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

// refuseForeignRuntime returns an error if the host has the same runtime from another source than
// airgap, or if airgap has installed another runtime: its running pods would be lost.
func refuseForeignRuntime(m host.Machine, e engine) error {
	for _, other := range engines() {
		if other.unit != e.unit && isOurs(m, other.unit) {
			return &host.Failure{
				What: "install " + e.title,
				Err:  fmt.Errorf("airgap has installed %s on this host%s, and it runs pods", other.title, other.origin()),
				Next: "run airgap reset on this host and install again, or set " + other.setting() + " in airgap.yaml",
			}
		}
	}
	for _, file := range e.foreignFiles() {
		if _, err := os.Stat(m.Path(file)); err == nil && !isOurs(m, file) {
			return e.foreign(file)
		}
	}
	return nil
}

// foreignFiles returns the files that exist only if airgap did not install the runtime. A package
// contains its own unit and configuration; Options.Foreign detects packages that airgap did not
// install.
func (e engine) foreignFiles() []string {
	unit := e.name + ".service"
	if e.rpm != "" {
		return []string{e.unit, path.Join("/etc/systemd/system", unit)}
	}
	return []string{e.config, e.unit, path.Join("/usr/lib/systemd/system", unit), path.Join("/lib/systemd/system", unit)}
}

// origin is a part of an error message: " from the package NAME", or "" for an archive.
func (e engine) origin() string {
	if e.rpm == "" {
		return ""
	}
	return " from the package " + e.rpm
}

// isOurs reports whether airgap has written a file of the runtime.
func isOurs(m host.Machine, file string) bool {
	text, err := os.ReadFile(m.Path(file))
	return err == nil && bytes.HasPrefix(text, []byte(ours))
}

// removeOurs removes a file only if airgap has written it.
func removeOurs(m host.Machine, file string) error {
	if !isOurs(m, file) {
		return nil
	}
	return host.Remove(m.Path(file))
}

func (e engine) foreign(file string) error {
	return &host.Failure{
		What: "install " + e.title,
		Err:  fmt.Errorf("this host already has %s: airgap has not written %s", e.title, file),
		Next: "remove that " + e.title + " (find its package with rpm -qf " + file + "), or use another host; podman may stay",
	}
}
