package registry

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// withPackage returns a bundle with airgap.rpm, which hosts without airgap download.
func withPackage(t *testing.T) *bundletest.Fixture {
	f := bundletest.New(t)
	must(t, os.WriteFile(filepath.Join(f.Dir, "airgap.rpm"), bytes.Repeat([]byte("airgap.rpm\n"), 200_000), 0o644))
	f.Sign(t)
	makeReadable(t, f.Dir)
	return f
}

// inPlace serves the fixture's bundle in place.
func inPlace(t *testing.T, f *bundletest.Fixture) (*running, Store) {
	s := Store{Dir: filepath.Join(t.TempDir(), "store"), InPlace: true}
	_, err := s.Import(t.Context(), f.Open(t), ui.Discard(), &f.Key.PublicKey)
	must(t, err)
	held, err := s.Open(&f.Key.PublicKey)
	must(t, err)
	t.Cleanup(func() { closeAll(held) })
	return start(t, held...), s
}

// TestALinkInPlaceIsNotServed replaces airgap.rpm, on a stick that is served in place, with a link to
// the registry's private key, and with other files.
func TestALinkInPlaceIsNotServed(t *testing.T) {
	f := withPackage(t)
	r, s := inPlace(t, f)
	rpm := filepath.Join(f.Dir, "airgap.rpm")
	original, err := os.ReadFile(rpm)
	must(t, err)
	for _, path := range []string{"/airgap.rpm", "/bundles/test/airgap.rpm"} {
		if resp, body, err := r.get(t, http.MethodGet, path); err != nil || resp.StatusCode != http.StatusOK || !bytes.Equal(body, original) {
			t.Fatalf("%s: %v, %d bytes, %v", path, resp, len(body), err)
		}
	}
	key := r.pki.KeyFile()
	secret, err := os.ReadFile(key)
	must(t, err)
	for kind, put := range map[string]func() error{
		"a symbolic link": func() error { return os.Symlink(key, rpm) },
		"a copy":          func() error { return os.WriteFile(rpm, secret, 0o644) },
		"other bytes":     func() error { return os.WriteFile(rpm, bytes.Repeat([]byte("x"), len(original)), 0o644) },
		"a longer file":   func() error { return os.WriteFile(rpm, append(bytes.Clone(original), secret...), 0o644) },
	} {
		must(t, errors.Join(os.Remove(rpm), put()))
		for _, path := range []string{"/airgap.rpm", "/bundles/test/airgap.rpm"} {
			resp, body, err := r.get(t, http.MethodGet, path)
			if err != nil || resp.StatusCode != http.StatusInternalServerError || !strings.Contains(string(body), "airgap.rpm") || bytes.Contains(body, []byte("PRIVATE KEY")) {
				t.Errorf("%s as %s: %v, %q, %v", path, kind, resp, body[:min(len(body), 300)], err)
			}
		}
		health, err := r.peer(t).Health(t.Context())
		if err != nil || len(health.Damage) == 0 || health.Damage[0].Part != "airgap.rpm" {
			t.Errorf("as %s: Health reports %+v, %v", kind, health.Damage, err)
		}
		if found := Compare(t.Context(), []*Client{r.peer(t)}); len(found) == 0 || !strings.Contains(fmt.Sprint(found), "airgap.rpm") {
			t.Errorf("as %s: Compare reports %+v", kind, found)
		}
		if kind == "a symbolic link" {
			wantRefused(t, s, f)
		}
	}
	must(t, errors.Join(os.Remove(rpm), os.WriteFile(rpm, original, 0o644))) // it may be a link
	if resp, body, err := r.get(t, http.MethodGet, "/airgap.rpm"); err != nil || resp.StatusCode != http.StatusOK || !bytes.Equal(body, original) {
		t.Errorf("after the repair: %v, %d bytes, %v", resp, len(body), err)
	}
	if health, err := r.peer(t).Health(t.Context()); err != nil || len(health.Damage) != 0 {
		t.Errorf("after the repair: Health reports %+v, %v", health.Damage, err)
	}
}

// wantRefused checks that the store does not open a bundle with a link in it.
func wantRefused(t *testing.T, s Store, f *bundletest.Fixture) {
	t.Helper()
	held, err := s.Open(&f.Key.PublicKey)
	if len(held) > 0 || !errors.Is(err, bundle.ErrDamaged) || !strings.Contains(err.Error(), "airgap.rpm: it is a symbolic link") {
		t.Errorf("opened again: %v, %v", held, err)
	}
}

// TestInPlaceNeedsUnchangedFiles: a bundle is not imported in place if a file changed after the bundle was opened.
func TestInPlaceNeedsUnchangedFiles(t *testing.T) {
	f := withPackage(t)
	b := f.Open(t)
	must(t, os.WriteFile(filepath.Join(f.Dir, "airgap.rpm"), []byte("other"), 0o644))
	s := Store{Dir: filepath.Join(t.TempDir(), "store"), InPlace: true}
	if _, err := s.Import(t.Context(), b, ui.Discard(), &f.Key.PublicKey); !errors.Is(err, bundle.ErrDamaged) || !strings.Contains(err.Error(), "airgap.rpm") {
		t.Errorf("got %v", err)
	}
	if names, _ := os.ReadDir(s.Dir); len(names) > 0 {
		t.Errorf("the store contains %v", names)
	}
}

// TestInPlaceVerifiesEachRead changes chunks of a stick after a client has read them.
func TestInPlaceVerifiesEachRead(t *testing.T) {
	f := withPackage(t)
	r, _ := inPlace(t, f)
	layer, data := firstLayer(t, f.Images[0].Held)
	blob := bundle.BlobPath(layer)
	for path, in := range map[string]string{
		"/v2/docker.io/library/nginx/blobs/" + layer: blob,
		"/files/hello.txt":                           "files/hello.txt",
		"/rpm/el9/repodata/repomd.xml":               "rpm/el9/repodata/repomd.xml",
		"/bundles/test/bundle.tar.000":               "",
		"/bundles/test/" + "INSTALL.txt":             "",
	} {
		resp, original, err := r.get(t, http.MethodGet, path)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %v", path, resp, err)
		}
		flipByte := func() { flip(t, filepath.Join(f.Dir, filepath.Base(path))) }
		if in != "" {
			flipByte = func() { f.Flip(t, in) }
		}
		flipByte()
		if resp, body, err := r.get(t, http.MethodGet, path); err == nil && resp.StatusCode == http.StatusOK {
			t.Errorf("%s: %d bytes after the change", path, len(body))
		}
		flipByte() // the second flip restores the byte
		if resp, body, err := r.get(t, http.MethodGet, path); err != nil || resp.StatusCode != http.StatusOK || !bytes.Equal(body, original) {
			t.Errorf("%s: %v, %d bytes, %v after the byte is restored", path, resp, len(body), err)
		}
	}
	if len(data) == 0 {
		t.Error("the layer is empty")
	}
}

func flip(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	data[0] ^= 1
	must(t, os.WriteFile(path, data, 0o644))
}

// TestAPeersFileIsRefused: a peer reports which of its files is damaged.
func TestAPeersFileIsRefused(t *testing.T) {
	f := withPackage(t)
	r := start(t, f.Open(t))
	b, err := r.from(t, f)
	must(t, err)
	defer b.Close()
	flip(t, filepath.Join(f.Dir, "airgap.rpm"))
	s := Store{Dir: t.TempDir()}
	_, err = s.Import(t.Context(), b, ui.Discard())
	if !errors.Is(err, bundle.ErrDamaged) || !strings.Contains(err.Error(), "airgap.rpm: the registry at "+r.addr) {
		t.Errorf("got %v", err)
	}
	if remaining, _ := os.ReadDir(s.Dir); len(remaining) > 0 {
		t.Errorf("remaining files: %v", remaining)
	}
}
