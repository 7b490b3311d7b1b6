package registry

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// makeReadable lets all users read a directory of a test, as they can read a stick.
func makeReadable(t *testing.T, dir string) {
	t.Helper()
	for path := dir; path != os.TempDir() && path != "/"; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		must(t, err)
		must(t, os.Chmod(path, info.Mode().Perm()|0o005))
	}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Chmod(path, 0o644)
		}
		return err
	}))
}

func TestInPlace(t *testing.T) {
	f := bundletest.New(t)
	makeReadable(t, f.Dir)
	key := &f.Key.PublicKey
	s := Store{Dir: filepath.Join(t.TempDir(), "store"), InPlace: true}
	stick := f.Open(t)
	if written, err := s.Import(t.Context(), stick, ui.Discard(), key); err != nil || written != 0 {
		t.Fatalf("%d bytes, %v", written, err)
	}
	if path, err := s.Linked(stick); err != nil || path != f.Dir {
		t.Errorf("linked to %q, %v", path, err)
	}
	held, err := s.Open(key)
	must(t, err)
	r := start(t, held...)
	if _, err := r.pull(t, "registry.k8s.io/pause:3.10.2"); err != nil {
		t.Error(err)
	}

	unmounted := f.Dir + ".unmounted"
	must(t, os.Rename(f.Dir, unmounted))
	if bundles, err := s.Open(key); err == nil || !strings.Contains(err.Error(), "test is served in place, and is not available") || len(bundles) != 0 {
		t.Errorf("without the stick: %v, %v", bundles, err)
	}
	must(t, os.Rename(unmounted, f.Dir))

	s.InPlace = false
	if _, err := s.Import(t.Context(), stick, ui.Discard(), key); err != nil {
		t.Fatal(err)
	}
	if path, err := s.Linked(stick); err != nil || path != "" {
		t.Errorf("after the copy, Linked returns %q, %v", path, err)
	}
	must(t, os.RemoveAll(f.Dir))
	copied, err := s.Open(key)
	if err != nil || len(copied) != 1 {
		t.Fatalf("opened copies: %v, %v", copied, err)
	}
	defer copied[0].Close()
	must(t, copied[0].Verify(t.Context(), ui.Discard()))
	if names, err := os.ReadDir(s.Dir); err != nil || len(names) != 2 || names[0].Name() != importedNamesFile {
		t.Errorf("the store contains %v, %v", names, err)
	}
}

func TestInPlaceNeedsReadableFiles(t *testing.T) {
	f := bundletest.New(t)
	makeReadable(t, f.Dir)
	s := Store{Dir: t.TempDir(), InPlace: true}
	for path, mode := range map[string]os.FileMode{f.Dir: 0o750, filepath.Join(f.Dir, "bundle.tar.000"): 0o600} {
		before, err := os.Stat(path)
		must(t, err)
		must(t, os.Chmod(path, mode))
		_, err = s.Import(t.Context(), f.Open(t), ui.Discard(), &f.Key.PublicKey)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the registry's user cannot read %s (mode %o)", path, mode)) {
			t.Errorf("%s: %v", path, err)
		}
		must(t, os.Chmod(path, before.Mode().Perm()))
	}
}

func TestADeltaInPlaceNeedsItsBase(t *testing.T) {
	f := bundletest.New(t)
	delta := f.Delta(t, "delta", bundletest.StandardImages(t)[0])
	s := Store{Dir: t.TempDir(), InPlace: true}
	if _, err := s.Import(t.Context(), delta.Open(t), ui.Discard(), &f.Key.PublicKey, &delta.Key.PublicKey); !errors.Is(err, bundle.ErrBase) {
		t.Errorf("got %v", err)
	}
}

// TestInPlaceIsThatBundle: if another bundle with a trusted signature, such as an older one, replaces
// the linked bundle, it is not served.
func TestInPlaceIsThatBundle(t *testing.T) {
	f := bundletest.New(t)
	older := bundletest.NewWithFiles(t, "test", map[string][]byte{"files/old": []byte("old")}, bundletest.StandardImages(t)...)
	makeReadable(t, f.Dir)
	makeReadable(t, older.Dir)
	keys := []*ecdsa.PublicKey{&f.Key.PublicKey, &older.Key.PublicKey}
	s := Store{Dir: filepath.Join(t.TempDir(), "store"), InPlace: true}
	stick := f.Open(t)
	if _, err := s.Import(t.Context(), stick, ui.Discard(), keys...); err != nil {
		t.Fatal(err)
	}
	must(t, os.Rename(f.Dir, f.Dir+".unmounted"))
	must(t, os.Rename(older.Dir, f.Dir))
	served, err := s.Open(keys...)
	if err == nil || len(served) != 0 {
		t.Fatalf("%d bundles, %v", len(served), err)
	}
	for _, want := range []string{f.Dir, "want " + stick.ID(), "airgap registry import --in-place " + f.Dir} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not contain %q", err, want)
		}
	}

	other, err := bundle.Open(f.Dir, keys...)
	must(t, err)
	t.Cleanup(func() { must(t, other.Close()) })
	if _, err := s.Import(t.Context(), other, ui.Discard(), keys...); err != nil {
		t.Fatal(err)
	}
	if served, err = s.Open(keys...); err != nil || len(served) != 1 || served[0].ID() != other.ID() {
		t.Errorf("after its import: %d bundles, %v", len(served), err)
	}
	closeAll(served)
}

// TestLinkWithoutID: an earlier airgap wrote no ID. Its link is served. The next import in place
// writes the ID.
func TestLinkWithoutID(t *testing.T) {
	f := bundletest.New(t)
	makeReadable(t, f.Dir)
	key := &f.Key.PublicKey
	s := Store{Dir: t.TempDir(), InPlace: true}
	must(t, os.Symlink(f.Dir, filepath.Join(s.Dir, "test")))
	stick := f.Open(t)
	served, err := s.Open(key)
	if err != nil || len(served) != 1 {
		t.Fatalf("%d bundles, %v", len(served), err)
	}
	closeAll(served)
	if held, err := (Store{Dir: s.Dir}).Has(stick, key); err != nil || !held {
		t.Errorf("Has without InPlace: %v, %v", held, err)
	}
	if _, err := s.Import(t.Context(), stick, ui.Discard(), key); err != nil {
		t.Fatal(err)
	}
	if id, err := linkedID(filepath.Join(s.Dir, "test")); err != nil || id != stick.ID() {
		t.Errorf("the ID is %q, %v", id, err)
	}
	if held, err := s.Has(stick, key); err != nil || !held {
		t.Errorf("Has with InPlace: %v, %v", held, err)
	}
}
