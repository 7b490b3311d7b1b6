package registry

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// from opens the fixture's bundle as another registry host does.
func (r *running) from(t *testing.T, f *bundletest.Fixture) (*bundle.Bundle, error) {
	ca, err := os.ReadFile(r.pki.CAFile())
	must(t, err)
	client, err := NewClient(r.addr, ca)
	must(t, err)
	return bundle.OpenFS(client.Files(t.Context(), "test"), "test at "+r.addr, &f.Key.PublicKey)
}

// TestAPeerFillsTheStore copies a bundle from one registry host to another.
func TestAPeerFillsTheStore(t *testing.T) {
	f := bundletest.New(t)
	r := start(t, f.Open(t))
	b, err := r.from(t, f)
	must(t, err)
	defer b.Close()
	s := Store{Dir: t.TempDir()}
	if held, err := s.Has(b, &f.Key.PublicKey); err != nil || held {
		t.Errorf("before the copy: %v, %v", held, err)
	}
	_, err = s.Import(t.Context(), b, ui.Discard())
	must(t, err)
	if held, err := s.Has(b, &f.Key.PublicKey); err != nil || !held {
		t.Errorf("after the copy: %v, %v", held, err)
	}
	copied, err := bundle.Open(filepath.Join(s.Dir, "test"), &f.Key.PublicKey)
	must(t, err)
	defer copied.Close()
	must(t, copied.Verify(t.Context(), ui.Discard()))
}

// TestAPeersDamageIsRefused: Import writes nothing if the disk of the peer is damaged.
func TestAPeersDamageIsRefused(t *testing.T) {
	f := bundletest.New(t)
	r := start(t, f.Open(t))
	b, err := r.from(t, f)
	must(t, err)
	defer b.Close()
	part, err := os.OpenFile(filepath.Join(f.Dir, "bundle.tar.000"), os.O_RDWR, 0)
	must(t, err)
	_, err = part.WriteAt([]byte("x"), 1000)
	must(t, errors.Join(err, part.Close()))
	s := Store{Dir: t.TempDir()}
	if _, err := s.Import(t.Context(), b, ui.Discard()); !errors.Is(err, bundle.ErrDamaged) {
		t.Errorf("got %v", err)
	}
	if remaining, _ := os.ReadDir(s.Dir); len(remaining) > 0 {
		t.Errorf("remaining files: %v", remaining)
	}
}

// TestOnlyTheBundlesOwnFiles: the registry serves no other files of the store's disk.
func TestOnlyTheBundlesOwnFiles(t *testing.T) {
	f := bundletest.New(t)
	must(t, os.WriteFile(filepath.Join(f.Dir, "notes.txt"), []byte("x"), 0o644))
	r := start(t, f.Open(t))
	for path, want := range map[string]int{
		"/bundles/test/SHA256SUMS":         http.StatusOK,
		"/bundles/test/notes.txt":          http.StatusNotFound,
		"/bundles/other/SHA256SUMS":        http.StatusNotFound,
		"/bundles/test/":                   http.StatusNotFound,
		"/bundles/test/..%2f..%2fetc%2fpw": http.StatusNotFound,
	} {
		if resp, _, err := r.get(t, http.MethodGet, path); err != nil || resp.StatusCode != want {
			t.Errorf("%s: %v, %v, want %d", path, resp, err, want)
		}
	}
	ca, err := os.ReadFile(r.pki.CAFile())
	must(t, err)
	client, err := NewClient(r.addr, ca)
	must(t, err)
	if _, err := fs.Stat(client.Files(t.Context(), "test"), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fs.Stat(client.Files(ended, "test"), "SHA256SUMS"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a canceled context: %v", err)
	}
}
