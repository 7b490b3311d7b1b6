package registry

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/sidefiles"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// link makes the store serve the bundle from its location, such as a stick, without a copy: the
// bundle's directory in the store is a symbolic link. A later Import copies the bundle. While the
// stick is not mounted, the registry cannot serve this bundle, but serves the others.
func (s Store) link(stick *bundle.Bundle, trusted []*ecdsa.PublicKey) error {
	rest, err := s.rest(stick, trusted)
	if err != nil {
		return fmt.Errorf("serve bundle in place: %w", err)
	}
	closeAll(rest)
	source, err := filepath.Abs(stick.Dir())
	if err == nil {
		source, err = filepath.EvalSymlinks(source)
	}
	if err == nil {
		err = checkReadable(stick, source)
	}
	if err != nil {
		return fmt.Errorf("serve bundle in place: %w", err)
	}
	dir, err := s.bundleDir(stick)
	if err != nil {
		return err
	}
	if held, err := s.Has(stick, trusted...); err != nil || held {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return fmt.Errorf("serve bundle in place: %w", err)
	}
	if err := os.RemoveAll(dir); err != nil { // an incomplete copy
		return fmt.Errorf("serve bundle in place: %w", err)
	}
	if err := host.WriteFile(linkIDFile(dir), []byte(stick.ID()+"\n"), 0o644); err != nil {
		return fmt.Errorf("serve bundle in place: %w", err)
	}
	return errors.Join(os.Symlink(source, dir), host.SyncDir(s.Dir), s.recordNames(stick))
}

// linkIDPrefix starts the name of the file next to a link. The file contains the ID of the linked
// bundle, so that another signed bundle in the same place, such as an older one, is not served.
const linkIDPrefix = ".linked-"

func linkIDFile(dir string) string {
	return filepath.Join(filepath.Dir(dir), linkIDPrefix+filepath.Base(dir))
}

// linkedID returns the ID of the linked bundle, or "" if an earlier airgap wrote no ID.
func linkedID(dir string) (string, error) {
	text, err := os.ReadFile(linkIDFile(dir))
	return strings.TrimSpace(string(text)), host.IgnoreMissing(err)
}

// isLinked reports whether dir, a directory of the store, is a link.
func isLinked(dir string) bool {
	_, err := os.Readlink(dir)
	return err == nil
}

// checkLinkedBundle returns an error if the linked directory now contains another bundle.
func checkLinkedBundle(dir string, b *bundle.Bundle) error {
	if !isLinked(dir) {
		return nil
	}
	want, err := linkedID(dir)
	if err != nil || want == "" || want == b.ID() {
		return err
	}
	to, err := os.Readlink(dir)
	return errors.Join(err, fmt.Errorf("open bundle %s, which is served in place from %s: found bundle %s there, want %s: "+
		"restore the former bundle, or serve the new one: airgap registry import --in-place %s", filepath.Base(dir), to, b.ID(), want, ui.Quote(to)))
}

// checkReadable returns an error if the registry's user cannot read the bundle: each parent directory
// and each file. It also verifies the signed hashes of the files next to the parts.
func checkReadable(stick *bundle.Bundle, dir string) error {
	for path := dir; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("the registry's user cannot read %s (mode %o): mount the stick with umask=022, or run chmod o+x", path, info.Mode().Perm())
		}
		if path == filepath.Dir(path) {
			break
		}
	}
	for _, name := range stick.Names() {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) && bundle.IsDocumentation(name) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o004 == 0 {
			return fmt.Errorf("the registry's user cannot read %s (mode %o): mount the stick with umask=022, or run chmod o+r", path, info.Mode().Perm())
		}
	}
	_, err := sidefiles.Check(stick)
	return err
}

// Linked returns the location of a bundle that is served in place, or "" for a copy.
func (s Store) Linked(b *bundle.Bundle) (string, error) {
	dir, err := s.bundleDir(b)
	if err != nil {
		return "", err
	}
	to, err := os.Readlink(dir)
	if err != nil {
		return "", nil //nolint:nilerr // not a link: a copy
	}
	return to, nil
}

// unavailable returns an error for each bundle that is served in place and cannot be read now, and for each copy whose
// index the disk does not return.
func (s Store) unavailable() []error {
	var problems []error
	entries, _ := os.ReadDir(s.Dir) // List has reported the error
	for _, e := range entries {
		path := filepath.Join(s.Dir, e.Name())
		to, err := os.Readlink(path)
		if err != nil {
			_, err := os.Stat(filepath.Join(path, bundle.IndexName))
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && host.IgnoreMissing(err) != nil {
				problems = append(problems, fmt.Errorf("bundle %s cannot be read: %w", e.Name(), err))
			}
			continue
		}
		if _, err := os.Stat(filepath.Join(to, bundle.IndexName)); err != nil {
			problems = append(problems, advice.Add(fmt.Errorf("bundle %s is served in place, and is not available: %w", e.Name(), err),
				"mount the stick again; the registry then serves the bundle within seconds"))
		}
	}
	return problems
}

// Unavailable returns an error about the bundles that are served in place and cannot be read now, or nil.
func (s Store) Unavailable() error { return errors.Join(s.unavailable()...) }

// inPlace returns the state of each bundle that is served in place, by name: the file of its index, or why there is
// none. The file is another one after a stick was mounted again.
func (s Store) inPlace() map[string]string {
	states := map[string]string{}
	entries, _ := os.ReadDir(s.Dir) // List reports the error
	for _, e := range entries {
		to, err := os.Readlink(filepath.Join(s.Dir, e.Name()))
		if err != nil {
			continue // it is a copy
		}
		states[e.Name()] = to + ": " + fileState(filepath.Join(to, bundle.IndexName))
	}
	return states
}

func fileState(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return err.Error()
	}
	state := fmt.Sprint(info.Size(), " bytes of ", info.ModTime().UTC())
	if stat, is := info.Sys().(*syscall.Stat_t); is {
		state = fmt.Sprintf("file %d on device %d, %s", stat.Ino, stat.Dev, state)
	}
	return state
}

// copyingPrefix starts the name of a copy that will replace a link.
const copyingPrefix = ".copying-"

// destination returns the directory for the copy of a bundle, and a function to call after the copy.
// If the bundle's directory is a link, the copy goes next to it and then replaces it.
func (s Store) destination(b *bundle.Bundle) (string, func() error, error) {
	dir, err := s.bundleDir(b)
	if err != nil {
		return "", nil, err
	}
	if path, err := s.Linked(b); err != nil || path == "" {
		return dir, func() error { return nil }, err
	}
	copyDir := filepath.Join(s.Dir, copyingPrefix+filepath.Base(dir))
	return copyDir, func() error {
		if err := os.Remove(dir); err != nil {
			return err
		}
		return errors.Join(os.Rename(copyDir, dir), host.IgnoreMissing(os.Remove(linkIDFile(dir))), host.SyncDir(s.Dir))
	}, nil
}
