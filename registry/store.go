package registry

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// Store is the directory with the bundles that a registry host serves, each in its own directory:
// /var/lib/airgap/store/NAME.
type Store struct {
	Dir string
	// InPlace makes Import link bundles to their location instead of copying them.
	InPlace bool
}

// Import copies the bundle to the store and verifies it. After an interruption, another Import
// continues the copy. If the base of a delta is not in the store, the error is a *bundle.BaseError,
// and nothing is written.
//
// Import also reads and verifies existing files, and repairs damaged ones. written is the number of
// new or repaired bytes.
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
		err = errors.Join(replace(), s.recordNames(stick))
	}
	if err != nil {
		return written, fmt.Errorf("import bundle: %w", err)
	}
	return written, nil
}

// removeUnfinished removes the incomplete copy of a damaged stick, because it has no use and can fill
// the disk. If the stick was only unplugged, the copy stays, and continues later.
func removeUnfinished(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, bundle.IndexName)); err == nil {
		return nil
	}
	return host.RemoveTree(dir)
}

// Has reports whether the store has exactly this bundle: the same signed index, and each part with
// its full size.
func (s Store) Has(stick *bundle.Bundle, trusted ...*ecdsa.PublicKey) (bool, error) {
	dir, err := s.bundleDir(stick)
	if err != nil {
		return false, err
	}
	want, err := stick.Attested(bundle.SumsName)
	if err != nil {
		return false, err
	}
	if same, err := hasSums(dir, want); err != nil || !same {
		return false, err
	}
	if isLinked(dir) {
		noted, err := linkedID(dir)
		if err != nil || noted != stick.ID() && (noted != "" || s.InPlace) {
			return false, err // another import in place writes the ID
		}
	}
	current, err := bundle.Open(dir, trusted...)
	if err != nil {
		return false, nil //nolint:nilerr // damaged or unfinished: another import repairs it
	}
	return true, current.Close()
}

// HasSums reports whether a complete bundle of the store has these SHA256SUMS.
func (s Store) HasSums(sums []byte) (bool, error) {
	dir, err := s.dirWithSums(sums)
	return dir != "", err
}

// dirWithSums returns the directory of the complete bundle with these SHA256SUMS, or "".
func (s Store) dirWithSums(sums []byte) (string, error) {
	names, err := s.List()
	for _, name := range names {
		dir := filepath.Join(s.Dir, name)
		same, unreadable := hasSums(dir, sums)
		if same {
			return dir, nil
		}
		err = errors.Join(err, unreadable) // of another bundle, if a later one has the sums
	}
	return "", err
}

func hasSums(dir string, want []byte) (bool, error) {
	same, err := bundle.HasSums(dir, want)
	return same, host.IgnoreMissing(err)
}

// List returns the sorted names of the complete bundles of the store. A store that does not exist has
// none.
func (s Store) List() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list store: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // not a bundle, for example a bundle that is being removed
		}
		if _, err := os.Stat(filepath.Join(s.Dir, e.Name(), bundle.IndexName)); err == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Open opens every bundle of the store. It opens the others also if one cannot be opened, or if a
// delta has no base: their errors are returned together with the opened bundles.
func (s Store) Open(trusted ...*ecdsa.PublicKey) ([]*bundle.Bundle, error) {
	names, err := s.List()
	if err != nil {
		return nil, err
	}
	var opened []*bundle.Bundle
	problems := s.unavailable()
	for _, name := range names {
		dir := filepath.Join(s.Dir, name)
		b, err := bundle.Open(dir, trusted...)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if err := checkLinkedBundle(dir, b); err != nil {
			problems = append(problems, errors.Join(err, b.Close()))
			continue
		}
		opened = append(opened, b)
	}
	opened, baseless := dropIncomplete(opened)
	return opened, errors.Join(append(problems, baseless...)...)
}

// bundleDir returns the directory of a bundle in the store, or the one for its copy: its name or, if
// another bundle has or had that name, its name and the start of its ID.
func (s Store) bundleDir(b *bundle.Bundle) (string, error) {
	dir, err := s.path(b.Index().Name)
	if err != nil {
		return "", err
	}
	longName := dir + "-" + b.ID()[:12]
	existing, err := bundle.IDIn(dir)
	if host.IgnoreMissing(err) != nil {
		return "", fmt.Errorf("find bundle in store: %w", err)
	}
	if existing == b.ID() {
		return dir, nil
	}
	if _, err := os.Stat(longName); err == nil || existing != "" {
		return longName, nil
	}
	return dir, nil
}

// path returns the directory name in the store. It refuses names that lead out of the store.
func (s Store) path(name string) (string, error) {
	if !filepath.IsLocal(name) || strings.HasPrefix(name, ".") || strings.ContainsRune(name, '/') {
		return "", fmt.Errorf("find bundle in store: %q is not a valid directory name", name)
	}
	return filepath.Join(s.Dir, name), nil
}
