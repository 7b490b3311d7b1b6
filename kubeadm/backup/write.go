package backup

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/etcd"
)

const (
	snapshotName = "etcd.db"
	aboutName    = "backup.json"
	sumsName     = "SHA256SUMS"
)

// reserve, in bytes, must stay free after a backup: etcd stops on a
// full disk.
const reserve = 1 << 30

// write fills dir: with a plain backup or, where there are recipients, with an encrypted one.
func (s Store) write(ctx context.Context, etcd Snapshotter, about About, to []age.Recipient, dir string) error {
	key, err := s.Keys.Key()
	if err != nil {
		return err
	}
	if len(to) == 0 {
		return s.writePlain(ctx, etcd, about, key, dir)
	}
	plain := filepath.Join(s.stage(), plainDraft)
	if err := s.writePlain(ctx, etcd, about, key, plain); err != nil {
		return err
	}
	return s.writeSealed(plain, about, to, key, dir)
}

// writePlain writes a backup and reads it back.
func (s Store) writePlain(ctx context.Context, etcd Snapshotter, about About, key *ecdsa.PrivateKey, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	room := func(bytes int64) error { return roomFor(filepath.Dir(dir), bytes) }
	err := host.Write(filepath.Join(dir, snapshotName), 0o600, func(w io.Writer) error { return etcd.Snapshot(ctx, room, w) })
	if err != nil {
		return err
	}
	for _, path := range s.Paths {
		if err := s.copyTree(path, dir); err != nil {
			return err
		}
	}
	if err := host.WriteJSON(filepath.Join(dir, aboutName), about); err != nil {
		return err
	}
	if err := vouch(dir, key); err != nil {
		return err
	}
	return readBack(dir)
}

// writeSealed encrypts the plain backup.
func (s Store) writeSealed(plain string, about About, to []age.Recipient, key *ecdsa.PrivateKey, dir string) error {
	size, err := host.BytesBelow(plain)
	if err != nil {
		return err
	}
	if err := roomFor(s.Dir, size); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := seal(plain, filepath.Join(dir, sealedName), to); err != nil {
		return fmt.Errorf("encrypt the backup: %w", err)
	}
	if err := host.WriteJSON(filepath.Join(dir, aboutName), about); err != nil {
		return err
	}
	return vouch(dir, key)
}

// vouch writes the checksums of the files in dir, and signs them.
func vouch(dir string, key *ecdsa.PrivateKey) error {
	text, err := sums(dir)
	if err != nil {
		return err
	}
	return sign(dir, text, key)
}

// Takes are the bytes that have to be free for a snapshot of so many.
func Takes(snapshot int64) int64 { return snapshot + reserve }

// roomFor returns nil if dir has space for the bytes and the reserve.
func roomFor(dir string, bytes int64) error {
	free, err := host.FreeSpace(dir)
	if err != nil {
		return err
	}
	if free < Takes(bytes) {
		return fmt.Errorf("%s has %s free: a snapshot of etcd takes %s, and %s should stay free for etcd itself", dir, ui.Size(free), ui.Size(bytes), ui.Size(reserve))
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

// sums returns the output of sha256sum for the files in dir, sorted by name.
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

// readBack checks the snapshot against etcd's checksum.
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
	return etcd.CheckSnapshot(f, info.Size())
}
