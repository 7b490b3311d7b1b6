package registry

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
)

// link has the store serve the bundle from where it lies, a stick for instance,
// without copying it: the bundle's place in the store is a symbolic link. A later
// Import makes a copy of it. While the stick is away the bundle cannot be read;
// the others are served.
func (s Store) link(stick *bundle.Bundle, trusted []*ecdsa.PublicKey) error {
	rest, err := s.rest(stick, trusted)
	if err != nil {
		return fmt.Errorf("serve bundle in place: %w", err)
	}
	closeAll(rest)
	from, err := filepath.Abs(stick.Dir())
	if err == nil {
		from, err = filepath.EvalSymlinks(from)
	}
	if err == nil {
		err = openToOthers(stick, from)
	}
	if err != nil {
		return fmt.Errorf("serve bundle in place: %w", err)
	}
	dir, err := s.place(stick)
	if err != nil {
		return err
	}
	if held, err := s.Holds(stick, trusted...); err != nil || held {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return fmt.Errorf("serve bundle in place: %w", err)
	}
	if err := os.RemoveAll(dir); err != nil { // a copy that was begun
		return fmt.Errorf("serve bundle in place: %w", err)
	}
	if err := host.WriteFile(linkNote(dir), []byte(stick.ID()+"\n"), 0o644); err != nil {
		return fmt.Errorf("serve bundle in place: %w", err)
	}
	return errors.Join(os.Symlink(from, dir), host.SyncDir(s.Dir), s.remember(stick))
}

// linkNotePrefix is before the name of a file next to a link: the ID of the bundle that
// was taken in place. Another signed bundle there, an older one for instance, is not
// served instead.
const linkNotePrefix = ".linked-"

func linkNote(dir string) string {
	return filepath.Join(filepath.Dir(dir), linkNotePrefix+filepath.Base(dir))
}

// linkedID is "" for a link of an airgap that noted none.
func linkedID(dir string) (string, error) {
	text, err := os.ReadFile(linkNote(dir))
	return strings.TrimSpace(string(text)), host.IgnoreMissing(err)
}

// isLinked reports whether dir, a place in the store, is a link.
func isLinked(dir string) bool {
	_, err := os.Readlink(dir)
	return err == nil
}

// refuseExchanged wants behind a link the bundle that was taken in place.
func refuseExchanged(dir string, b *bundle.Bundle) error {
	if !isLinked(dir) {
		return nil
	}
	want, err := linkedID(dir)
	if err != nil || want == "" || want == b.ID() {
		return err
	}
	to, err := os.Readlink(dir)
	return errors.Join(err, fmt.Errorf("open bundle %s, which is served in place from %s: bundle %s lies there, want %s: put the former one back, or serve this one: airgap registry import --in-place %s", filepath.Base(dir), to, b.ID(), want, to))
}

// openToOthers requires that the registry's user may read the bundle: each directory on
// the way, and the files, which must be what was signed.
func openToOthers(stick *bundle.Bundle, dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("%s is not open to the registry's user (mode %o): mount the stick with umask=022, or chmod o+x", at, info.Mode().Perm())
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	for _, name := range stick.Names() {
		at := filepath.Join(dir, name)
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o004 == 0 {
			return fmt.Errorf("%s is not open to the registry's user (mode %o): mount the stick with umask=022, or chmod o+r", at, info.Mode().Perm())
		}
	}
	return stick.VerifyBeside()
}

// Linked is where a bundle of the store lies that is served in place; "" for a copy.
func (s Store) Linked(b *bundle.Bundle) (string, error) {
	dir, err := s.place(b)
	if err != nil {
		return "", err
	}
	to, err := os.Readlink(dir)
	if err != nil {
		return "", nil //nolint:nilerr // no link: it is a copy
	}
	return to, nil
}

// away names the bundles that are served in place and are not there now.
func (s Store) away() []error {
	var problems []error
	entries, _ := os.ReadDir(s.Dir) // List has told of an error
	for _, e := range entries {
		at := filepath.Join(s.Dir, e.Name())
		to, err := os.Readlink(at)
		if err != nil {
			continue // a copy
		}
		if _, err := os.Stat(filepath.Join(to, bundle.IndexName)); err != nil {
			problems = append(problems, fmt.Errorf("bundle %s is served in place, and is away: %w", e.Name(), err))
		}
	}
	return problems
}

// copying is before the name of a copy that is to replace a link.
const copying = ".copying-"

// destination is where a bundle is to be copied: its place, or, where that is a
// link, beside it, until the copy is whole and takes the link's place.
func (s Store) destination(b *bundle.Bundle) (string, func() error, error) {
	dir, err := s.place(b)
	if err != nil {
		return "", nil, err
	}
	if at, err := s.Linked(b); err != nil || at == "" {
		return dir, func() error { return nil }, err
	}
	beside := filepath.Join(s.Dir, copying+filepath.Base(dir))
	return beside, func() error {
		if err := os.Remove(dir); err != nil {
			return err
		}
		return errors.Join(os.Rename(beside, dir), host.IgnoreMissing(os.Remove(linkNote(dir))), host.SyncDir(s.Dir))
	}, nil
}
