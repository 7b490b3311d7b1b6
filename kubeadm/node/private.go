package node

import (
	"errors"
	"io/fs"
	"os"

	"airgap.dev/airgap/internal/host"
)

// PrivateDir reports whether a directory is root's alone.
func PrivateDir(m host.Machine, dir string) (bool, error) {
	info, err := os.Lstat(m.Path(dir))
	if err != nil {
		return false, host.IgnoreMissing(err)
	}
	return info.IsDir() && info.Mode().Perm() == 0o700, nil
}

// MakePrivateDir makes a directory that is root's alone, or makes an existing one so.
func MakePrivateDir(m host.Machine, dir string) error {
	if err := os.MkdirAll(m.Path(dir), 0o700); err != nil {
		return err
	}
	return os.Chmod(m.Path(dir), 0o700)
}

// RemoveFrom removes files, and then their directory if nothing else is in it.
func RemoveFrom(m host.Machine, dir string, files ...string) error {
	for _, file := range files {
		if err := host.Remove(m.Path(file)); err != nil {
			return err
		}
	}
	if err := os.Remove(m.Path(dir)); host.IgnoreMissing(err) != nil && !errors.Is(err, fs.ErrExist) { // not empty
		return err
	}
	return nil
}
