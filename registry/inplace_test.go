package registry

import (
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

// opened makes a directory of a test one that everybody may read, as sticks are.
func opened(t *testing.T, dir string) {
	t.Helper()
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		must(t, err)
		must(t, os.Chmod(at, info.Mode().Perm()|0o005))
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
	opened(t, f.Dir)
	key := &f.Key.PublicKey
	s := Store{Dir: filepath.Join(t.TempDir(), "store"), InPlace: true}
	stick := f.Open(t)
	if written, err := s.Import(t.Context(), stick, ui.Discard(), key); err != nil || written != 0 {
		t.Fatalf("%d bytes, %v", written, err)
	}
	if at, err := s.Linked(stick); err != nil || at != f.Dir {
		t.Errorf("linked to %q, %v", at, err)
	}
	held, err := s.Open(key)
	must(t, err)
	r := start(t, held...)
	if _, err := r.pull(t, "registry.k8s.io/pause:3.10.2"); err != nil {
		t.Error(err)
	}

	away := f.Dir + ".away"
	must(t, os.Rename(f.Dir, away))
	if bundles, err := s.Open(key); err == nil || !strings.Contains(err.Error(), "test is served in place, and is away") || len(bundles) != 0 {
		t.Errorf("without the stick: %v, %v", bundles, err)
	}
	must(t, os.Rename(away, f.Dir))

	s.InPlace = false
	if _, err := s.Import(t.Context(), stick, ui.Discard(), key); err != nil {
		t.Fatal(err)
	}
	if at, err := s.Linked(stick); err != nil || at != "" {
		t.Errorf("after the copy it is linked to %q, %v", at, err)
	}
	must(t, os.RemoveAll(f.Dir))
	copied, err := s.Open(key)
	if err != nil || len(copied) != 1 {
		t.Fatalf("the copy: %v, %v", copied, err)
	}
	defer copied[0].Close()
	must(t, copied[0].Verify(t.Context(), ui.Discard()))
	if names, err := os.ReadDir(s.Dir); err != nil || len(names) != 2 || names[0].Name() != broughtName {
		t.Errorf("the store has %v, %v", names, err)
	}
}

func TestInPlaceIsForEverybody(t *testing.T) {
	f := bundletest.New(t)
	opened(t, f.Dir)
	s := Store{Dir: t.TempDir(), InPlace: true}
	for path, mode := range map[string]os.FileMode{f.Dir: 0o750, filepath.Join(f.Dir, "bundle.tar.000"): 0o600} {
		before, err := os.Stat(path)
		must(t, err)
		must(t, os.Chmod(path, mode))
		_, err = s.Import(t.Context(), f.Open(t), ui.Discard(), &f.Key.PublicKey)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s is not open to the registry's user (mode %o)", path, mode)) {
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
