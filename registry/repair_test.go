package registry

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// spoil inverts a bit of a pushed blob on the disk, in the middle of the file.
func spoil(t *testing.T, pushed string, d string) {
	t.Helper()
	file := filepath.Join(pushed, dataPath(digest.Digest(d)))
	content, err := os.ReadFile(file)
	must(t, err)
	content[len(content)/2] ^= 1
	must(t, os.WriteFile(file, content, 0o600))
}

// damage returns the damage that the registry reports.
func (r *running) damage(t *testing.T) []Damage {
	t.Helper()
	health, err := r.peer(t).Health(t.Context())
	must(t, err)
	return health.Damage
}

// TestDamagedPushIsRepairedByPush: a damaged layer does not exist for a client that asks before a push, and the push
// replaces it, whether a read has found the damage before or not.
func TestDamagedPushIsRepairedByPush(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, r *running, path string){
		"no read": func(*testing.T, *running, string) {},
		"a read": func(t *testing.T, r *running, path string) {
			t.Helper()
			if resp, body, err := r.get(t, http.MethodGet, path); err == nil && resp.StatusCode == http.StatusOK {
				t.Errorf("%s, %d bytes", resp.Status, len(body))
			}
		},
		"a range": func(t *testing.T, r *running, path string) {
			t.Helper()
			if resp, body, err := r.get(t, http.MethodGet, path, "Range", "bytes=100000-"); err != nil || resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s, %d bytes, %v", resp.Status, len(body), err)
			}
		},
		"the last bytes": func(t *testing.T, r *running, path string) {
			t.Helper()
			if resp, body, err := r.get(t, http.MethodGet, path, "Range", "bytes=-100000"); err != nil || resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s, %d bytes, %v", resp.Status, len(body), err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, pushed := startSite(t)
			image := bundletest.RandomImage(t, 300_000, 1, "amd64")
			must(t, remote.Write(r.ref(t, "team/app:1"), image, r.login()...))
			layer, _ := firstLayer(t, image)
			path := "/v2/team/app/blobs/" + layer
			if resp, _, err := r.get(t, http.MethodGet, path); err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("before the damage: %s, %v", resp.Status, err)
			}
			spoil(t, pushed, layer)
			before(t, r, path)
			for _, method := range []string{http.MethodHead, http.MethodGet} {
				if resp, _, err := r.get(t, method, path); err != nil || resp.StatusCode != http.StatusNotFound {
					t.Errorf("%s of a damaged blob: %s, %v", method, resp.Status, err)
				}
			}
			want := Damage{Chunk: -1, Blob: layer, Path: "team/app"}
			if found := r.damage(t); len(found) != 1 || found[0] != want {
				t.Errorf("damage: %+v", found)
			}
			if got := r.metric(t, "airgap_registry_damaged_chunks"); got != "1" {
				t.Errorf("metric: %s", got)
			}
			must(t, remote.Write(r.ref(t, "team/app:2"), image, r.login()...))
			got, err := r.pull(t, "team/app:1")
			must(t, err)
			must(t, validate.Image(got))
			if found := r.damage(t); len(found) != 0 {
				t.Errorf("after the repair: %+v", found)
			}
		})
	}
}

// TestDamagedLayerIsNotMounted: a push to another repository does not reuse the damaged layer.
func TestDamagedLayerIsNotMounted(t *testing.T) {
	r, pushed := startSite(t)
	image := bundletest.RandomImage(t, 100_000, 1, "amd64")
	must(t, remote.Write(r.ref(t, "team/app:1"), image, r.login()...))
	layer, _ := firstLayer(t, image)
	spoil(t, pushed, layer)
	if resp, _ := r.send(t, http.MethodPost, "/v2/team/other/blobs/uploads/?mount="+layer+"&from=team/app", nil); resp.StatusCode != http.StatusAccepted {
		t.Errorf("mount: %s", resp.Status)
	}
	manifest, err := image.RawManifest()
	must(t, err)
	mediaType, err := image.MediaType()
	must(t, err)
	if resp, body := r.send(t, http.MethodPut, "/v2/team/app/manifests/2", manifest, "Content-Type", string(mediaType)); resp.StatusCode < 400 {
		t.Errorf("a manifest with a damaged layer: %s %s", resp.Status, body)
	}
}

// TestDamagedPushedManifest: a manifest that changed on the disk, and is still JSON, is never served. A push repairs it,
// and it can be deleted.
func TestDamagedPushedManifest(t *testing.T) {
	r, pushed := startSite(t)
	image := bundletest.RandomImage(t, 1000, 1, "amd64")
	must(t, remote.Write(r.ref(t, "team/app:1"), image, r.login()...))
	d := digestOf(t, image)
	damage := func() {
		file := filepath.Join(pushed, dataPath(digest.Digest(d)))
		content, err := os.ReadFile(file)
		must(t, err)
		changed := bytes.Replace(content, []byte(`"size":`), []byte(`"size":1`), 1)
		must(t, os.WriteFile(file, changed, 0o600))
	}
	refused := func() {
		t.Helper()
		for _, reference := range []string{"1", d} {
			for _, method := range []string{http.MethodHead, http.MethodGet} {
				if resp, body, err := r.get(t, method, "/v2/team/app/manifests/"+reference, "Accept", acceptAll); err != nil || resp.StatusCode != http.StatusNotFound {
					t.Errorf("%s %s: %s %s, %v", method, reference, resp.Status, body, err)
				}
			}
		}
		if found := r.damage(t); len(found) != 1 || found[0].Blob != d || found[0].Path != "team/app" {
			t.Errorf("damage: %+v", found)
		}
	}
	damage()
	refused()
	must(t, remote.Write(r.ref(t, "team/app:1"), image, r.login()...))
	got, err := r.pull(t, "team/app:1")
	must(t, err)
	must(t, validate.Image(got))

	damage()
	refused()
	if resp, body := r.send(t, http.MethodDelete, "/v2/team/app/manifests/"+d, nil); resp.StatusCode != http.StatusAccepted {
		t.Errorf("delete: %s %s", resp.Status, body)
	}
	if resp, _, err := r.get(t, http.MethodGet, "/v2/team/app/tags/list"); err != nil || resp.StatusCode >= 500 {
		t.Errorf("tags: %s, %v", resp.Status, err)
	}
}

// TestCopiesInTheStoreAreVerifiedAtEveryRead: a copy that changes on the disk after a good read is not served.
func TestCopiesInTheStoreAreVerifiedAtEveryRead(t *testing.T) {
	f := bundletest.New(t)
	s := Store{Dir: t.TempDir()}
	_, err := s.Import(t.Context(), f.Open(t), ui.Discard(), &f.Key.PublicKey)
	must(t, err)
	held, err := s.Open(&f.Key.PublicKey)
	must(t, err)
	r := start(t, held...)
	layer, data := firstLayer(t, f.Images[0].Held)
	path := "/v2/docker.io/library/nginx/blobs/" + layer
	if resp, body, err := r.get(t, http.MethodGet, path); err != nil || resp.StatusCode != http.StatusOK || !bytes.Equal(body, data) {
		t.Fatalf("%s, %d bytes, %v", resp.Status, len(body), err)
	}
	copied := *f
	copied.Dir = filepath.Join(s.Dir, "test")
	copied.Flip(t, bundle.BlobPath(layer))
	for _, span := range []string{"", "bytes=0-", fmt.Sprintf("bytes=-%d", len(data))} {
		if resp, body, err := r.get(t, http.MethodGet, path, "Range", span); err != nil || resp.StatusCode != http.StatusInternalServerError {
			t.Errorf("range %q: %s, %d bytes, %v", span, resp.Status, len(body), err)
		}
	}
	if found := r.damage(t); len(found) != 1 || found[0].Path != bundle.BlobPath(layer) {
		t.Errorf("damage: %+v", found)
	}
}

// TestDamageIsCountedPerChunk: several reads of a chunk, through different files, are one entry.
func TestDamageIsCountedPerChunk(t *testing.T) {
	f := bundletest.New(t)
	f.Flip(t, "files/hello.txt")
	b := f.Open(t)
	entry, err := b.File("files/hello.txt")
	must(t, err)
	r := start(t, b)
	for _, path := range []string{"/files/hello.txt", "/files/hello.txt", "/bundles/test/bundle.tar.000", "/bundles/" + b.ID() + "/bundle.tar.000"} {
		from := fmt.Sprintf("bytes=%d-", entry.Entry().Offset*int64(strings.Count(path, "/bundles/")))
		if resp, _, err := r.get(t, http.MethodGet, path, "Range", from); err == nil && resp.StatusCode < 400 {
			t.Errorf("%s from %s: %s", path, from, resp.Status)
		}
	}
	if found := r.damage(t); len(found) != 1 || found[0].Part != "bundle.tar.000" {
		t.Errorf("damage: %+v", found)
	}
	if got := r.metric(t, "airgap_registry_damaged_chunks"); got != "1" {
		t.Errorf("metric: %s", got)
	}
}

// TestKeepPushedReplacesDamage: a damaged blob is no reason to give up the intact one of a removed bundle.
func TestKeepPushedReplacesDamage(t *testing.T) {
	pushed, b, manifest := userPushes(t)
	must(t, KeepPushed(t.Context(), pushed, b, nil))
	spoil(t, pushed, manifest.String())
	must(t, KeepPushed(t.Context(), pushed, b, nil))
	content, err := os.ReadFile(filepath.Join(pushed, dataPath(manifest)))
	if err != nil || digest.FromBytes(content) != manifest {
		t.Errorf("%d bytes, %v", len(content), err)
	}
}
