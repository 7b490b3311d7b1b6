package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
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

// Write is WriteFile with content that comes bit by bit. Where that fails, what was
// at path stays.
func Write(path string, perm fs.FileMode, content func(io.Writer) error) error {
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
	if err := fill(tmp, content, perm); err != nil {
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

// Remove takes away what WriteFile put at path, and what a WriteFile that was
// killed left beside it. A file that is not there is fine.
func Remove(path string) error {
	for _, name := range []string{path, Draft(path)} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
	}
	return nil
}

func fill(f *os.File, content func(io.Writer) error, perm fs.FileMode) error {
	defer f.Close()
	if err := content(f); err != nil {
		return err
	}
	if err := f.Chmod(perm); err != nil {
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
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// Holds reports whether the file at path has exactly this content and mode:
// the postcondition of a step that writes a file.
func Holds(path string, data []byte, perm fs.FileMode) (bool, error) {
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
