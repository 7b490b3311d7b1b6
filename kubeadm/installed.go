package kubeadm

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
func (m Machine) filesHold(files []File) (bool, error) {
	if _, err := os.Stat(m.path(stagingDir)); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	record, err := m.readInstalled()
	if err != nil {
		return false, err
	}
	for _, f := range files {
		if !slices.Contains(record.Releases, f.Name) {
			return false, nil
		}
	}
	for name, want := range record.Files {
		have, err := host.SHA256(m.path(path.Join(BinDir, name)))
		if err != nil || have != want {
			return false, host.IgnoreMissing(err)
		}
	}
	return true, nil
}

func (m Machine) removeRuntime() error {
	record, err := m.readInstalled()
	if err != nil {
		return err
	}
	for name := range record.Files {
		if err := host.Remove(m.path(path.Join(BinDir, name))); err != nil {
			return err
		}
	}
	return host.Remove(m.path(installedFile))
}

// refuseForeignRuntime stops before a runtime that somebody else set up is given our
// configuration, and before a second one of ours joins the first: what runs under it
// would be lost.
func (m Machine) refuseForeignRuntime(e engine) error {
	for _, other := range engines() {
		if other.name != e.name && m.ours(other.unit) {
			return &Failure{
				What: "install " + e.title,
				Err:  fmt.Errorf("airgap has installed %s on this host, and its pods are there", other.title),
				Next: "airgap reset this host first, and install it again; or runtime.name: " + other.name + " in airgap.yaml",
			}
		}
	}
	for _, file := range []string{e.config, e.unit} {
		if _, err := os.Stat(m.path(file)); err == nil && !m.ours(file) {
			return e.foreign(file)
		}
	}
	for _, dir := range []string{"/usr/lib/systemd/system", "/lib/systemd/system"} {
		unit := path.Join(dir, e.name+".service")
		if _, err := os.Stat(m.path(unit)); err == nil {
			return e.foreign(unit)
		}
	}
	return nil
}

// ours reports whether airgap wrote a file of the runtime.
func (m Machine) ours(file string) bool {
	text, err := os.ReadFile(m.path(file))
	return err == nil && bytes.HasPrefix(text, []byte(ours))
}

func (e engine) foreign(file string) error {
	return &Failure{
		What: "install " + e.title,
		Err:  fmt.Errorf("this host has a %s of its own: %s was not written by airgap", e.title, file),
		Next: "remove that " + e.title + " (rpm -qf " + file + " names its package), or use a host without one; podman may stay",
	}
}
