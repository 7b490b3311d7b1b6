package registry

import (
	"context"
	"crypto/ecdsa"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// serveStore serves a store until the test ends.
func serveStore(t *testing.T, s Store, o Options, keys ...*ecdsa.PublicKey) *running {
	t.Helper()
	p := prepare(t)
	o.Log = slog.New(slog.NewJSONHandler(p.log, nil))
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() {
		stopped <- ServeStore(ctx, StoreOptions{
			ServeOptions: ServeOptions{Options: o, Listener: p.listener, Certificate: p.pki.CertificateFile(), Key: p.pki.KeyFile()},
			Store:        s, Check: 10 * time.Millisecond,
			Open: func() ([]*bundle.Bundle, error) { return s.Open(keys...) },
		})
	}()
	t.Cleanup(func() {
		p.client.CloseIdleConnections()
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return &p.running
}

// until waits for a state of the registry.
func (r *running) until(t *testing.T, what string, reached func(Health) bool) Health {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		health, err := r.peer(t).Health(ctx)
		if err == nil && reached(health) {
			return health
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %+v, %v\n%s", what, health, err, r.log)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestStickAwayAndBack: the registry starts without its stick, reports this, and serves the stick when it is there, when it
// is mounted again as another file system, and not while it is away.
func TestStickAwayAndBack(t *testing.T) {
	f := bundletest.New(t)
	makeReadable(t, f.Dir)
	s := Store{Dir: filepath.Join(t.TempDir(), "store"), InPlace: true}
	_, err := s.Import(t.Context(), f.Open(t), ui.Discard(), &f.Key.PublicKey)
	must(t, err)
	drawer := f.Dir + ".drawer"
	must(t, os.Rename(f.Dir, drawer))
	users := filepath.Join(t.TempDir(), "htpasswd")
	writeUser(t, users)
	r := serveStore(t, s, Options{Pushed: t.TempDir(), Users: users, Brought: s.ImportedNames}, &f.Key.PublicKey)

	away := func(h Health) bool { return len(h.Bundles) == 0 && len(h.NotServed) == 1 }
	back := func(h Health) bool { return len(h.Bundles) == 1 && len(h.NotServed) == 0 }
	health := r.until(t, "start without the stick", away)
	if !strings.Contains(health.NotServed[0], "test is served in place, and is not available") {
		t.Errorf("not served: %q", health.NotServed)
	}
	if found := Compare(t.Context(), []*Client{r.peer(t)}); len(found) != 1 || !strings.Contains(found[0].Saw, "is not available") {
		t.Errorf("Compare: %+v", found)
	}
	if !strings.Contains(r.log.String(), "is not available") {
		t.Errorf("log: %s", r.log)
	}
	if resp, body := r.send(t, http.MethodPost, "/v2/docker.io/library/nginx/blobs/uploads/", nil); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a push under a name of the bundle: %s %s", resp.Status, body)
	}
	must(t, os.Rename(drawer, f.Dir))
	r.until(t, "the stick is back", back)
	if _, err := r.pull(t, "registry.k8s.io/pause:3.10.2"); err != nil {
		t.Error(err)
	}
	must(t, os.Rename(f.Dir, drawer))
	r.until(t, "the stick is away", away)
	if resp, _, err := r.get(t, http.MethodGet, "/files/hello.txt"); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("without the stick: %s, %v", resp.Status, err)
	}
	must(t, os.Rename(drawer, f.Dir))
	r.until(t, "the stick is back again", back)
}

// TestRemountedStickIsRead: after the stick is mounted again, no byte comes from the files of the earlier mount. Bundles with
// a copy in the store stay available.
func TestRemountedStickIsRead(t *testing.T) {
	f := bundletest.NewWithFiles(t, "test", map[string][]byte{"linked": []byte("linked\n")}, bundletest.StandardImages(t)...)
	other := bundletest.NewWithFiles(t, "copied", map[string][]byte{"copied": []byte("copied\n")})
	makeReadable(t, f.Dir)
	keys := []*ecdsa.PublicKey{&f.Key.PublicKey, &other.Key.PublicKey}
	s := Store{Dir: filepath.Join(t.TempDir(), "store")}
	_, err := s.Import(t.Context(), other.Open(t), ui.Discard(), keys...)
	must(t, err)
	_, err = Store{Dir: s.Dir, InPlace: true}.Import(t.Context(), f.Open(t), ui.Discard(), keys...)
	must(t, err)
	r := serveStore(t, s, Options{}, keys...)
	r.until(t, "start", func(h Health) bool { return len(h.Bundles) == 2 })
	again := f.Dir + ".again"
	must(t, os.CopyFS(again, os.DirFS(f.Dir)))
	makeReadable(t, again)
	dead := f.Dir + ".dead"
	f.Flip(t, "files/linked") // the earlier mount
	must(t, os.Rename(f.Dir, dead))
	must(t, os.Rename(again, f.Dir))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		if _, body, err := r.get(t, http.MethodGet, "/files/linked"); err == nil && string(body) == "linked\n" {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the files of the earlier mount are still read:\n%s", r.log)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if resp, body, err := r.get(t, http.MethodGet, "/files/copied"); err != nil || string(body) != "copied\n" {
		t.Errorf("the copy in the store: %s %q, %v", resp.Status, body, err)
	}
	if found := r.damage(t); len(found) > 0 {
		t.Errorf("damage of the earlier mount: %+v", found)
	}
}

// TestEmptyStoreIsAnError: without a bundle that could come back, there is nothing to wait for.
func TestEmptyStoreIsAnError(t *testing.T) {
	p := prepare(t)
	err := ServeStore(t.Context(), StoreOptions{
		ServeOptions: ServeOptions{Options: Options{Log: discard()}, Listener: p.listener, Certificate: p.pki.CertificateFile(), Key: p.pki.KeyFile()},
		Store:        Store{Dir: t.TempDir()}, Open: func() ([]*bundle.Bundle, error) { return nil, nil },
	})
	if err == nil || !strings.Contains(err.Error(), "no bundle to serve in") {
		t.Error(err)
	}
}

// TestUnreadableCopyIsReported: a copy whose index cannot be read is no unfinished copy.
func TestUnreadableCopyIsReported(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	must(t, os.MkdirAll(filepath.Join(s.Dir, "unfinished"), 0o755))
	must(t, os.MkdirAll(filepath.Join(s.Dir, "loop"), 0o755))
	must(t, os.Symlink(bundle.IndexName, filepath.Join(s.Dir, "loop", bundle.IndexName)))
	err := s.Unavailable()
	if err == nil || !strings.Contains(err.Error(), "bundle loop cannot be read") || strings.Contains(err.Error(), "unfinished") {
		t.Error(err)
	}
}
