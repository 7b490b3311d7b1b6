package kubeadm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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
		have, err := fileSum(m.path(path.Join(BinDir, name)))
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

// refuseForeignRuntime stops before a containerd that somebody else set up is
// given our configuration: what runs under it would be lost.
func (m Machine) refuseForeignRuntime() error {
	for _, file := range []string{containerdConfig, containerdUnit} {
		if _, err := os.Stat(m.path(file)); err == nil && !m.ours(file) {
			return foreign(file)
		}
	}
	for _, unit := range []string{"/usr/lib/systemd/system/containerd.service", "/lib/systemd/system/containerd.service"} {
		if _, err := os.Stat(m.path(unit)); err == nil {
			return foreign(unit)
		}
	}
	return nil
}

// ours reports whether airgap wrote a file of the runtime.
func (m Machine) ours(file string) bool {
	text, err := os.ReadFile(m.path(file))
	return err == nil && bytes.HasPrefix(text, []byte(ours))
}

func foreign(file string) error {
	return &Failure{
		What: "install containerd",
		Err:  fmt.Errorf("this host has a containerd of its own: %s was not written by airgap", file),
		Next: "remove that containerd (rpm -qf " + file + " names its package), or use a host without one; podman may stay",
	}
}

func fileSum(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
