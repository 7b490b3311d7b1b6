package registry

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry/ledger"
)

func TestReservedNames(t *testing.T) {
	c, err := newCatalog(nil, nil)
	must(t, err)
	names, err := newReserved(c, []string{"harbor/team/app:1", "quay.corp:8443/x/y@" + digest.FromString("x").String()})
	must(t, err)
	for name, want := range map[string]bool{
		"registry.k8s.io/pause": true, "docker.io/library/nginx": true, "quay.io/a/b": true, "ghcr.io/x": true, "nvcr.io/nvidia/cuda": true,
		"docker.io": true, "Registry.K8S.io/pause": true, "registry.k8s.io./pause": true, "localhost/x": true, "LOCALHOST/x": true,
		"localhost_5000/x": true, "mirror_5000/x": true, "quay.corp_8443/x": true, "10.0.0.1_5000/x": true, "[__1]_5000/x": true,
		"harbor/other": true, "Harbor/x": true, "airgap.invalid/canary": true,
		"team/app": false, "team_a/app": false, "team-1/app": false, "app": false, "team/registry.k8s.io/pause": false, "harbor2/app": false, "5000/x": false,
	} {
		if names.has(name) != want {
			t.Errorf("%s is reserved: %v, want %v", name, !want, want)
		}
	}
}

// TestReservedNamesAreNotPushed: a user cannot push to names that pods of the cluster itself pull,
// however the name is written.
func TestReservedNamesAreNotPushed(t *testing.T) {
	f := bundletest.New(t)
	r, pushed := startSite(t, f.Open(t))
	must(t, remote.Write(r.ref(t, "team/app:1"), bundletest.RandomImage(t, 1000, 1, "amd64"), r.login()...))
	layer := "sha256:" + strings.Repeat("a", 64)
	for _, c := range []struct{ method, path string }{
		{"PUT", "/v2/registry.k8s.io/pause/manifests/9"},
		{"PUT", "/v2/pause/manifests/9?ns=registry.k8s.io"},
		{"PUT", "/v2/pause/manifests/9?ns=REGISTRY.k8s.io"},
		{"PUT", "/v2/nginx/manifests/9?ns=registry-1.docker.io"},
		{"PUT", "/v2/Registry.K8s.io/pause/manifests/9"},
		{"PUT", "/v2/mirror_5000/pause/manifests/9"},
		{"PUT", "/v2/pause/manifests/9?ns=mirror:5000"},
		{"PUT", "/v2/registry.k8s.io/pause/manifests/" + layer},
		{"POST", "/v2/ghcr.io/x/y/blobs/uploads/"},
		{"POST", "/v2/ghcr.io/x/y/blobs/uploads"},
		{"POST", "/v2/ghcr.io/x/y/blobs/uploads/?mount=" + layer + "&from=team/app"},
		{"PATCH", "/v2/nvcr.io/x/blobs/uploads/id"},
		{"PUT", "/v2/nvcr.io/x/blobs/uploads/id?digest=" + layer},
		{"GET", "/v2/nvcr.io/x/blobs/uploads/id"},
		{"DELETE", "/v2/quay.io/org/app/manifests/2"},
		{"DELETE", "/v2/quay.io/org/app/blobs/" + layer},
	} {
		resp, body := r.send(t, c.method, c.path, []byte("{}"))
		if resp.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "reserved for bundles") {
			t.Errorf("%s %s: %s: %s", c.method, c.path, resp.Status, body)
		}
	}
	// The name of a repository cannot end with a dot.
	if resp, body := r.send(t, "PUT", "/v2/registry.k8s.io./pause/manifests/9", []byte("{}")); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("%s: %s", resp.Status, body)
	}
	if !strings.Contains(r.log.String(), `"msg":"push refused","user":"ci","repository":"registry.k8s.io/pause"`) {
		t.Errorf("the log does not contain the refused push:\n%s", r.log)
	}
	entries, err := os.ReadDir(filepath.Join(pushed, repositoriesPath))
	if err != nil || len(entries) != 1 || entries[0].Name() != "team" {
		t.Errorf("on the disk: %v, %v", entries, err)
	}
}

// earlierPush returns a directory in which an earlier airgap accepted pushes to registry.k8s.io/pause and harbor/app.
func earlierPush(t *testing.T) (pushed, users string) {
	t.Helper()
	users, pushed = filepath.Join(t.TempDir(), "htpasswd"), t.TempDir()
	writeUser(t, users)
	var text []byte
	t.Run("push", func(t *testing.T) {
		r := startWith(t, Options{Pushed: pushed, Users: users})
		for _, ref := range []string{"team/pause:3.10.2", "harbor/app:1", "team/app:1"} {
			must(t, remote.Write(r.ref(t, ref), bundletest.RandomImage(t, 1000, 1, "amd64"), r.login()...))
		}
		records, _, err := r.peer(t).Pushed(t.Context(), "")
		must(t, err)
		text, err = json.Marshal(records)
		must(t, err)
	})
	repositories := filepath.Join(pushed, repositoriesPath)
	must(t, os.Mkdir(filepath.Join(repositories, "registry.k8s.io"), 0o700))
	must(t, os.Rename(filepath.Join(repositories, "team/pause"), filepath.Join(repositories, "registry.k8s.io/pause")))
	must(t, os.Remove(filepath.Join(pushed, ledger.File)))
	must(t, os.WriteFile(filepath.Join(pushed, "ledger.json"), []byte(strings.Replace(string(text), "team/pause", "registry.k8s.io/pause", 1)), 0o600))
	return pushed, users
}

// TestPrunedBundleLeavesItsNames: an older push is not served instead of a bundle's image, while the
// bundle is in the store and after it was removed.
func TestPrunedBundleLeavesItsNames(t *testing.T) {
	pushed, users := earlierPush(t)
	f := bundletest.NewWith(t, "test", append(bundletest.StandardImages(t), bundletest.Image{Name: "harbor/app:1", Held: bundletest.RandomImage(t, 1000, 1, "amd64")})...)
	s := Store{Dir: t.TempDir()}
	_, err := s.Import(t.Context(), f.Open(t), ui.Discard(), &f.Key.PublicKey)
	must(t, err)
	must(t, os.Remove(filepath.Join(s.Dir, importedNamesFile))) // as in a store of an older airgap
	t.Run("with the bundle", func(t *testing.T) {
		r := startWith(t, Options{Bundles: []*bundle.Bundle{f.Open(t)}, Pushed: pushed, Users: users, Brought: s.ImportedNames})
		got, err := r.pull(t, "harbor/app:1")
		must(t, err)
		if want := digestOf(t, f.Images[3].Held); digestOf(t, got) != want {
			t.Errorf("harbor/app:1 is %s, want the bundle's %s", digestOf(t, got), want)
		}
	})
	bundles, err := s.Open(&f.Key.PublicKey)
	must(t, err)
	must(t, s.Remove(bundles[0]))
	if info, err := os.Stat(filepath.Join(s.Dir, importedNamesFile)); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("file of names: %v, %v", info, err)
	}
	t.Run("after it was pruned", func(t *testing.T) {
		r := startWith(t, Options{Pushed: pushed, Users: users, Brought: s.ImportedNames})
		for _, ref := range []string{"registry.k8s.io/pause:3.10.2", "harbor/app:1"} {
			if _, err := r.pull(t, ref); err == nil || !strings.Contains(err.Error(), "UNKNOWN") {
				t.Errorf("%s: %v", ref, err)
			}
			if err := remote.Write(r.ref(t, ref), bundletest.RandomImage(t, 1000, 1, "amd64"), r.login()...); err == nil || !strings.Contains(err.Error(), "is an image of a bundle") {
				t.Errorf("push %s: %v", ref, err)
			}
		}
		kept, err := r.pull(t, "team/app:1")
		must(t, err)
		must(t, validate.Image(kept))
		records, _, err := r.peer(t).Pushed(t.Context(), "")
		if err != nil || len(records) != 1 || records["team/app"] == nil {
			t.Errorf("Pushed returns %v, %v", records, err)
		}
		found := Compare(t.Context(), []*Client{r.peer(t)})
		var objects []string
		for _, d := range found {
			objects = append(objects, d.Object)
			if !strings.Contains(d.Saw, "reserved for bundles") || !strings.Contains(d.Fix, "team/app") {
				t.Errorf("%+v", d)
			}
		}
		if !slices.Equal(objects, []string{"Repository harbor/app", "Repository registry.k8s.io/pause"}) {
			t.Errorf("Compare reports %v", objects)
		}
	})
}

// TestDamagedNames: if the names of earlier bundles cannot be read, no pushed image is served.
func TestDamagedNames(t *testing.T) {
	pushed, users := earlierPush(t)
	s := Store{Dir: t.TempDir()}
	must(t, os.WriteFile(filepath.Join(s.Dir, importedNamesFile), []byte("{"), 0o600))
	r := startWith(t, Options{Pushed: pushed, Users: users, Brought: s.ImportedNames})
	if _, err := r.pull(t, "harbor/app:1"); err == nil {
		t.Error("a pushed image is served")
	}
	health, err := r.peer(t).Health(t.Context())
	if err != nil || !strings.Contains(health.Problem, importedNamesFile) {
		t.Errorf("%+v, %v", health, err)
	}
}

func TestStoreRemembersNames(t *testing.T) {
	f, g := bundletest.New(t), bundletest.NewWith(t, "next", bundletest.StandardImages(t)[:1]...)
	s := Store{Dir: filepath.Join(t.TempDir(), "store")}
	if names, err := s.ImportedNames(); err != nil || names != nil {
		t.Errorf("an empty store: %v, %v", names, err)
	}
	for _, in := range []*bundletest.Fixture{f, g} {
		_, err := s.Import(t.Context(), in.Open(t), ui.Discard(), &in.Key.PublicKey)
		must(t, err)
	}
	names, err := s.ImportedNames()
	if err != nil || len(names) != 3 || names[0] != "docker.io/library/nginx:1.27" || names[2] != "registry.k8s.io/pause:3.10.2" {
		t.Errorf("names %v, %v", names, err)
	}
}

// TestPeerCannotPushReservedNames: a registry does not copy images with reserved names from a peer.
func TestPeerCannotPushReservedNames(t *testing.T) {
	peer := prepare(t)
	image := bundletest.RandomImage(t, 1000, 1, "amd64")
	d := digest.Digest(digestOf(t, image))
	records := ledger.Records{}
	for _, name := range []string{"registry.k8s.io/pause", "Docker.io/library/nginx", "mirror_5000/app"} {
		records.Set(ledger.Reference{Repository: name, Reference: "1"}, ledger.Record{Digest: d})
		records.Set(ledger.Reference{Repository: name, Reference: d.String()}, ledger.Record{Digest: d})
	}
	for _, odd := range []string{"../../../../x", "", "sha256:x/../y", strings.Repeat("a", 200)} {
		records.Set(ledger.Reference{Repository: "team/app", Reference: odd}, ledger.Record{Digest: d})
	}
	requests := make(chan string, 100)
	pair, err := loadKeyPair(peer.pki.CertificateFile(), peer.pki.KeyFile(), discard())
	must(t, err)
	server := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r.URL.Path
		_ = json.NewEncoder(w).Encode(records)
	}), pair, discard())
	go func() { _ = server.ServeTLS(peer.listener, "", "") }()
	t.Cleanup(func() { server.Close() })

	c, err := newCatalog(nil, nil)
	must(t, err)
	s, err := newStorage(c, t.TempDir(), nil)
	must(t, err)
	log := new(lockedBuffer)
	p, err := newPushes(c, s, "", slog.New(slog.NewJSONHandler(log, nil)))
	must(t, err)
	n, err := s.namespace(t.Context())
	must(t, err)
	r := newReplica(peer.peer(t), p, n, followEvery, p.log)
	must(t, r.catchUp(t.Context()))
	close(requests)
	for path := range requests {
		if path != pushedPath {
			t.Errorf("the replica requested %s", path)
		}
	}
	if entries, err := os.ReadDir(s.pushed); err != nil || len(entries) != 0 || r.Lag().Behind != 0 {
		t.Errorf("on the disk %v, %v; %+v", entries, err, r.Lag())
	}
	if !strings.Contains(log.String(), `"msg":"push of another registry refused","peer":"`+peer.addr) {
		t.Errorf("log: %s", log)
	}
	// The storage itself refuses, too.
	if to, err := openRepository(t.Context(), n, "registry.k8s.io/pause"); err == nil {
		_, err = to.blobs.Put(context.Background(), "text/plain", []byte("x"))
		if err == nil {
			t.Error("the storage accepted a blob")
		}
	}
}
