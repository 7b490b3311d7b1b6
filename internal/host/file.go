package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// WriteFile puts data at path atomically and durably: a temporary file in the
// same directory, fsync, rename, fsync of the directory. A power cut leaves
// the old content or the new one. A temporary file that was left behind then is
// replaced by the next WriteFile. Missing parent directories are made 0755.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	return Write(path, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Write is WriteFile for streamed content. After an error the old file stays.
func Write(path string, perm fs.FileMode, content func(io.Writer) error) error {
	return write(path, content, func(f *os.File) error { return f.Chmod(perm) })
}

// WriteForGroup is WriteFile of a file that the group may use as perm has it; "" leaves
// the group as it is. The file is the group's from the moment at which it is at path.
func WriteForGroup(path string, data []byte, perm fs.FileMode, group string) error {
	id, err := groupID(group)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	content := func(w io.Writer) error { _, err := w.Write(data); return err }
	return write(path, content, func(f *os.File) error { return errors.Join(f.Chown(-1, id), f.Chmod(perm)) })
}

func groupID(name string) (int, error) {
	if name == "" {
		return -1, nil
	}
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(g.Gid)
}

func write(path string, content func(io.Writer) error, settle func(*os.File) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Remove(Draft(path)); IgnoreMissing(err) != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	tmp, err := os.OpenFile(Draft(path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(tmp.Name())
	if err := fill(tmp, content, settle); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return SyncDir(dir)
}

// Draft is a file's temporary file. It has one name, so that those of killed
// runs do not pile up.
func Draft(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".airgap-new")
}

// Remove removes the file at path, and the draft of a killed WriteFile next to it.
// A missing file is no error.
func Remove(path string) error {
	for _, name := range []string{path, Draft(path)} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
	}
	return nil
}

// fill closes the file when it is durable; settle gives it owner and mode.
func fill(f *os.File, content func(io.Writer) error, settle func(*os.File) error) error {
	defer f.Close()
	if err := content(f); err != nil {
		return err
	}
	if err := settle(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// SyncDir makes the names in dir durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) { // SMB has no such request
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// FileMatches reports whether the file at path has exactly this content and mode:
// the postcondition of a step that writes a file.
func FileMatches(path string, data []byte, perm fs.FileMode) (bool, error) {
	info, err := os.Lstat(path)
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm() != perm {
		return false, nil
	}
	have, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	return bytes.Equal(have, data), nil
}
