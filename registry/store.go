package registry

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// Store is the directory whose bundles a registry host serves, one directory
// each: /var/lib/airgap/store/NAME.
type Store struct {
	Dir string
	// InPlace has Import serve bundles from where they lie instead of copying them.
	InPlace bool
}

// Import copies the bundle into the store while verifying it. It may be called
// again after it was interrupted, and goes on where it stopped. A delta whose
// base is not in the store is refused with a *bundle.BaseError before anything
// is written.
//
// What is in the store already is read and verified, and repaired where it went
// bad; written are the bytes for which that was so, or which were new.
func (s Store) Import(ctx context.Context, stick *bundle.Bundle, progress ui.Progress, trusted ...*ecdsa.PublicKey) (written int64, err error) {
	if s.InPlace {
		return 0, s.link(stick, trusted)
	}
	rest, err := s.rest(stick, trusted)
	if err != nil {
		return 0, fmt.Errorf("import bundle: %w", err)
	}
	closeAll(rest)
	dir, replace, err := s.destination(stick)
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return 0, fmt.Errorf("import bundle: %w", err)
	}
	written, err = stick.Copy(ctx, dir, progress)
	if errors.Is(err, bundle.ErrDamaged) {
		err = errors.Join(err, removeUnfinished(dir))
	}
	if err == nil {
		err = errors.Join(replace(), s.remember(stick))
	}
	if err != nil {
		return written, fmt.Errorf("import bundle: %w", err)
	}
	return written, nil
}

// removeUnfinished takes away the begun copy of a stick that turned out to be
// damaged: it is of no use, and may fill the disk. A pulled stick is another
// matter; there the copy goes on when it is back.
func removeUnfinished(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, bundle.IndexName)); err == nil {
		return nil
	}
	return host.RemoveTree(dir)
}

// Holds reports whether the store has this very bundle, whole: the same signed
// index, and every part in its size.
func (s Store) Holds(stick *bundle.Bundle, trusted ...*ecdsa.PublicKey) (bool, error) {
	dir, err := s.place(stick)
	if err != nil {
		return false, err
	}
	want, err := stick.Vouched(bundle.SumsName)
	if err != nil {
		return false, err
	}
	if same, err := holdsSums(dir, want); err != nil || !same {
		return false, err
	}
	if isLinked(dir) {
		noted, err := linkedID(dir)
		if err != nil || noted != stick.ID() && (noted != "" || s.InPlace) {
			return false, err // serving it in place again notes its ID
		}
	}
	held, err := bundle.Open(dir, trusted...)
	if err != nil {
		return false, nil //nolint:nilerr // damaged or unfinished: importing again repairs it
	}
	return true, held.Close()
}

// HasSums reports whether a finished bundle of the store has these SHA256SUMS.
func (s Store) HasSums(sums []byte) (bool, error) {
	names, err := s.List()
	for _, name := range names {
		if same, err := holdsSums(filepath.Join(s.Dir, name), sums); err != nil || same {
			return same, err
		}
	}
	return false, err
}

func holdsSums(dir string, want []byte) (bool, error) {
	same, err := bundle.HasSums(dir, want)
	return same, host.IgnoreMissing(err)
}

// List names the finished bundles of the store, sorted. A store that was never
// written to has none.
func (s Store) List() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list store: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // being removed
		}
		if _, err := os.Stat(filepath.Join(s.Dir, e.Name(), bundle.IndexName)); err == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Open opens every bundle of the store. A bundle that cannot be opened, or a
// delta whose base is not there, does not keep the others from being served: its
// error is returned beside them.
func (s Store) Open(trusted ...*ecdsa.PublicKey) ([]*bundle.Bundle, error) {
	names, err := s.List()
	if err != nil {
		return nil, err
	}
	var opened []*bundle.Bundle
	problems := s.away()
	for _, name := range names {
		open := bundle.Open
		if s.keeps(name) {
			open = bundle.OpenKept
		}
		dir := filepath.Join(s.Dir, name)
		b, err := open(dir, trusted...)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if err := refuseExchanged(dir, b); err != nil {
			problems = append(problems, errors.Join(err, b.Close()))
			continue
		}
		opened = append(opened, b)
	}
	opened, baseless := complete(opened)
	return opened, errors.Join(append(problems, baseless...)...)
}

// keeps reports whether the entry is a copy that others than root and this user cannot
// change: no link to a stick, no file system of its own, and not open to others.
func (s Store) keeps(name string) bool {
	store, err := os.Stat(s.Dir)
	if err != nil {
		return false
	}
	dir := filepath.Join(s.Dir, name)
	entries, err := os.ReadDir(dir)
	if err != nil || !ours(dir, store) {
		return false
	}
	return !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !ours(filepath.Join(dir, e.Name()), store) })
}

// ours reports whether a file or directory lies on the store's file system and only
// its owner, who is root or this user, may write to it.
func ours(path string, store fs.FileInfo) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	is, known := info.Sys().(*syscall.Stat_t)
	at, knownToo := store.Sys().(*syscall.Stat_t)
	return known && knownToo && is.Dev == at.Dev && (is.Uid == 0 || int(is.Uid) == os.Geteuid())
}

// place is where a bundle lies in the store, or would: under its name, or, where
// another bundle has that name, or had when it came, with the beginning of its ID behind it.
func (s Store) place(b *bundle.Bundle) (string, error) {
	dir, err := s.path(b.Index().Name)
	if err != nil {
		return "", err
	}
	long := dir + "-" + b.ID()[:12]
	there, err := bundle.IDIn(dir)
	if host.IgnoreMissing(err) != nil {
		return "", fmt.Errorf("find bundle in store: %w", err)
	}
	if there == b.ID() {
		return dir, nil
	}
	if _, err := os.Stat(long); err == nil || there != "" {
		return long, nil
	}
	return dir, nil
}

// path refuses names that would lead out of the store.
func (s Store) path(name string) (string, error) {
	if !filepath.IsLocal(name) || strings.HasPrefix(name, ".") || strings.ContainsRune(name, '/') {
		return "", fmt.Errorf("find bundle in store: %q is no name for a directory", name)
	}
	return filepath.Join(s.Dir, name), nil
}
