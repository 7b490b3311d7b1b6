package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
)

const (
	snapshotName = "etcd.db"
	aboutName    = "backup.json"
	sumsName     = "SHA256SUMS"
)

// reserve, in bytes, has to stay free beside a backup: etcd itself stops on a
// disk that is full.
const reserve = 1 << 30

// write fills dir and reads back what it wrote.
func (s Store) write(ctx context.Context, etcd Snapshotter, about About, dir string) (size int64, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	err = host.Write(filepath.Join(dir, snapshotName), 0o600, func(w io.Writer) error { return etcd.Snapshot(ctx, s.room, w) })
	if err != nil {
		return 0, err
	}
	for _, path := range s.Paths {
		if err := s.copyTree(path, dir); err != nil {
			return 0, err
		}
	}
	if err := host.WriteJSON(filepath.Join(dir, aboutName), about); err != nil {
		return 0, err
	}
	sums, err := sums(dir)
	if err != nil {
		return 0, err
	}
	if err := host.WriteFile(filepath.Join(dir, sumsName), sums, 0o600); err != nil {
		return 0, err
	}
	if err := readBack(dir); err != nil {
		return 0, err
	}
	return host.BytesBelow(dir)
}

// Takes are the bytes that have to be free for a snapshot of so many.
func Takes(snapshot int64) int64 { return snapshot + reserve }

// room is nil where a snapshot of so many bytes has room, beside what has to stay
// free.
func (s Store) room(bytes int64) error {
	free, err := host.FreeSpace(s.Dir)
	if err != nil {
		return err
	}
	if free < Takes(bytes) {
		return fmt.Errorf("%s has %s free: a snapshot of etcd takes %s, and %s should stay free for etcd itself", s.Dir, ui.Size(free), ui.Size(bytes), ui.Size(reserve))
	}
	return nil
}

// copyTree copies files, and links as links. Only their owner may read them,
// whatever their mode was: install and join give files the modes that they need.
func (s Store) copyTree(path, dir string) error {
	from := filepath.Join("/", s.Root, path)
	into, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer into.Close()
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if name == from && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, path, inside)
		switch {
		case e.IsDir() && slices.Contains(s.Except, filepath.Join(path, inside)):
			return fs.SkipDir
		case e.IsDir():
			return os.MkdirAll(to, 0o700)
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return into.Symlink(target, filepath.Join(path, inside)[1:])
		case e.Type().IsRegular():
			return copyFile(name, to)
		}
		return nil // a socket or its like
	})
}

func copyFile(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return host.Write(to, 0o600, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}

// sums is what sha256sum writes of the files in dir, sorted by name.
func sums(dir string) ([]byte, error) {
	var lines []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		sum, err := host.SHA256(name)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, name)
		lines = append(lines, sum+"  "+inside+"\n")
		return err
	})
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[2*sha256.Size:], b[2*sha256.Size:]) })
	return []byte(strings.Join(lines, "")), err
}

// readBack checks what etcd said of its own bytes.
func readBack(dir string) error {
	f, err := os.Open(filepath.Join(dir, snapshotName))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return kubeadm.CheckSnapshot(f, info.Size())
}
