package registry

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/registry/names"
)

func (r *running) pull(t testing.TB, ref string) (v1.Image, error) {
	t.Helper()
	parsed, err := name.ParseReference(r.addr + "/" + ref)
	must(t, err)
	return remote.Image(parsed, remote.WithTransport(r.client.Transport), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: "amd64"}))
}

func TestPull(t *testing.T) {
	f := bundletest.New(t)
	r := start(t, f.Open(t))
	byName := map[string]bundletest.Image{}
	for _, image := range f.Images {
		byName[image.Name] = image
	}
	pause := byName["registry.k8s.io/pause:3.10.2"]
	indexDigest, err := pause.Index.Digest()
	must(t, err)
	heldDigest, err := pause.Held.Digest()
	must(t, err)
	for ref, want := range map[string]v1.Image{
		"docker.io/library/nginx:1.27":                  byName["docker.io/library/nginx:1.27"].Held,
		"quay.io/org/app:2":                             f.Images[1].Held,
		"registry.k8s.io/pause:3.10.2":                  pause.Held,
		"registry.k8s.io/pause@" + indexDigest.String(): pause.Held,
		"registry.k8s.io/pause@" + heldDigest.String():  pause.Held,
		names.Canary: nil,
	} {
		image, err := r.pull(t, ref)
		if err != nil {
			t.Errorf("pull %s: %v", ref, err)
			continue
		}
		if err := validate.Image(image); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
		got, _ := image.Digest()
		if want == nil {
			continue // no bundle contains it
		}
		if w, _ := want.Digest(); got != w {
			t.Errorf("%s is %s, want %s", ref, got, w)
		}
	}
}

// get returns the complete body, or the error of reading it.
func (r *running) get(t testing.TB, method, path string, header ...string) (*http.Response, []byte, error) {
	t.Helper()
	req, err := http.NewRequest(method, r.url(path), nil)
	must(t, err)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return new(http.Response), nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

const acceptAll = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json"

func TestNamespaceOfMirrors(t *testing.T) {
	r := start(t, bundletest.New(t).Open(t))
	for path, want := range map[string]int{
		"/v2/pause/manifests/3.10.2?ns=registry.k8s.io":                 200,
		"/v2/registry.k8s.io/pause/manifests/3.10.2?ns=registry.k8s.io": 200,
		"/v2/library/nginx/manifests/1.27?ns=docker.io":                 200,
		"/v2/nginx/manifests/1.27?ns=docker.io":                         200,
		"/v2/pause/manifests/3.10.2?ns=docker.io":                       404,
		"/v2/pause/manifests/3.10.2":                                    404,
		"/v2/pause/tags/list?ns=registry.k8s.io":                        200,
		"/v2/":                                                          200,
	} {
		resp, body, err := r.get(t, http.MethodGet, path, "Accept", acceptAll)
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s: %s, %v, want %d: %s", path, resp.Status, err, want, body)
		}
	}
}

// TestNamespaceOfOurOwn: an image may be named after any registry of the cluster, also one that is stopped.
func TestNamespaceOfOurOwn(t *testing.T) {
	stopped := prepare(t)
	must(t, stopped.listener.Close())
	r := startWith(t, Options{Bundles: []*bundle.Bundle{bundletest.New(t).Open(t)}, Peers: []*Client{stopped.peer(t)}, Names: []string{"node1:5000"}})
	for ns, want := range map[string]int{r.addr: 200, stopped.addr: 200, "node1:5000": 200, "node2:5000": 404} {
		resp, body, err := r.get(t, http.MethodGet, "/v2/registry.k8s.io/pause/manifests/3.10.2?ns="+ns)
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s: %s, %v, want %d: %s", ns, resp.Status, err, want, body)
		}
	}
}

func TestUnknownAndPush(t *testing.T) {
	r := start(t, bundletest.New(t).Open(t))
	noDigest := strings.Repeat("0", 64)
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", "/v2/docker.io/library/none/manifests/1", 404, "MANIFEST_UNKNOWN"},
		{"GET", "/v2/docker.io/library/none/tags/list", 404, "NAME_UNKNOWN"},
		{"GET", "/v2/docker.io/library/nginx/blobs/sha256:" + noDigest, 404, "BLOB_UNKNOWN"},
		{"GET", "/v2/docker.io/library/nginx/blobs/sha256:short", 400, "DIGEST_INVALID"},
		{"POST", "/v2/docker.io/library/nginx/blobs/uploads/", 405, "UNSUPPORTED"},
		{"PUT", "/v2/docker.io/library/nginx/manifests/2", 405, "UNSUPPORTED"},
		{"DELETE", "/v2/docker.io/library/nginx/manifests/1.27", 405, "UNSUPPORTED"},
		{"POST", "/rpm/el9/repodata/repomd.xml", 405, "UNSUPPORTED"},
		{"POST", "/join/x", 404, ""},
		{"GET", "/rpm/../oci/index.json", 404, ""},
	} {
		resp, body, err := r.get(t, c.method, c.path)
		must(t, err)
		var answer struct{ Errors []struct{ Code string } }
		_ = json.Unmarshal(body, &answer)
		code := ""
		if len(answer.Errors) > 0 {
			code = answer.Errors[0].Code
		}
		if resp.StatusCode != c.status || code != c.code {
			t.Errorf("%s %s: %d %q, want %d %q: %s", c.method, c.path, resp.StatusCode, code, c.status, c.code, body)
		}
	}
}

func TestBlobsBelongToTheirRepository(t *testing.T) {
	f := bundletest.New(t)
	r := start(t, f.Open(t))
	layer, data := firstLayer(t, f.Images[0].Held)
	path := "/blobs/" + layer
	resp, body, err := r.get(t, http.MethodGet, "/v2/docker.io/library/nginx"+path)
	if err != nil || resp.StatusCode != 200 || !bytes.Equal(body, data) || resp.Header.Get("Docker-Content-Digest") != layer {
		t.Errorf("layer of the repository: %s, %d bytes, %v", resp.Status, len(body), err)
	}
	if resp, _, _ = r.get(t, http.MethodGet, "/v2/quay.io/org/app"+path); resp.StatusCode != 404 {
		t.Errorf("another repository's layer: %s, want 404", resp.Status)
	}
	resp, body, err = r.get(t, http.MethodHead, "/v2/docker.io/library/nginx"+path)
	if err != nil || resp.ContentLength != int64(len(data)) || len(body) != 0 {
		t.Errorf("HEAD: %d bytes announced, %d sent, %v", resp.ContentLength, len(body), err)
	}
	resp, body, err = r.get(t, http.MethodGet, "/v2/nginx"+path+"?ns=docker.io", "Range", "bytes=1048570-1048583")
	if err != nil || resp.StatusCode != 206 || !bytes.Equal(body, data[1048570:1048584]) {
		t.Errorf("range across two chunks: %s, %v", resp.Status, err)
	}
	if resp, _, _ = r.get(t, http.MethodGet, "/v2/docker.io/library/nginx"+path, "If-None-Match", resp.Header.Get("ETag")); resp.StatusCode != 304 {
		t.Errorf("unchanged blob: %s, want 304", resp.Status)
	}
}

func firstLayer(t testing.TB, image v1.Image) (string, []byte) {
	t.Helper()
	layers, err := image.Layers()
	must(t, err)
	digest, err := layers[0].Digest()
	must(t, err)
	content, err := layers[0].Compressed()
	must(t, err)
	data, err := io.ReadAll(content)
	must(t, err)
	return digest.String(), data
}

func TestDamagedChunkIsNeverServed(t *testing.T) {
	f := bundletest.New(t)
	layer, data := firstLayer(t, f.Images[0].Held)
	manifest, err := f.Images[2].Held.Digest()
	must(t, err)
	f.Flip(t, bundle.BlobPath(layer))
	f.Flip(t, bundle.BlobPath(manifest.String()))
	f.Flip(t, "rpm/el9/Packages/socat-1.0-1.el9.x86_64.rpm")
	r := start(t, f.Open(t))
	resp, body, err := r.get(t, http.MethodGet, "/v2/docker.io/library/nginx/blobs/"+layer)
	if err == nil && resp.StatusCode == 200 {
		t.Errorf("got %d of %d bytes without an error", len(body), len(data))
	}
	if !bytes.HasPrefix(data, body) && resp.StatusCode == 200 {
		t.Error("got wrong bytes")
	}
	if resp, body, err = r.get(t, http.MethodGet, "/v2/registry.k8s.io/pause/manifests/"+manifest.String(), "Accept", acceptAll); err == nil && resp.StatusCode == 200 {
		t.Errorf("a damaged manifest was served: %s", body)
	}
	if resp, body, err = r.get(t, http.MethodGet, "/rpm/el9/Packages/socat-1.0-1.el9.x86_64.rpm"); err == nil && resp.StatusCode == 200 {
		t.Errorf("a damaged package was served: %d bytes", len(body))
	}
	for _, want := range []string{`"part":"bundle.tar.`, `"chunk":`, bundle.BlobPath(layer), `"aborted":true`} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log does not contain %s:\n%s", want, r.log)
		}
	}
}

func TestFilesAndPackages(t *testing.T) {
	f := bundletest.New(t)
	must(t, os.WriteFile(filepath.Join(f.Dir, "airgap.rpm"), []byte("an rpm"), 0o644))
	f.Sign(t)
	r := startWith(t, Options{Bundles: []*bundle.Bundle{f.Open(t)}, Join: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", r.Method)
	})})
	for path, want := range map[string]string{
		"/rpm/el9/repodata/repomd.xml": "<repomd/>\n",
		"/files/hello.txt":             "hello\n",
		"/airgap.rpm":                  "an rpm",
		"/healthz":                     `{"bundles":[{"name":"test","created":"2023-11-14T22:13:20Z","id":"` + f.Open(t).ID() + `"}],"ends":"`,
	} {
		resp, body, err := r.get(t, http.MethodGet, path)
		if err != nil || resp.StatusCode != 200 || !strings.HasPrefix(string(body), want) {
			t.Errorf("%s: %s %q %v, want %q", path, resp.Status, body, err, want)
		}
	}
	resp, body, err := r.get(t, http.MethodGet, "/rpm/el9/Packages/socat-1.0-1.el9.x86_64.rpm", "Range", "bytes=5-9")
	if err != nil || resp.StatusCode != 206 || string(body) != "socat" {
		t.Errorf("range of an RPM: %s %q %v", resp.Status, body, err)
	}
	if resp, _, _ := r.get(t, http.MethodPost, "/join/token"); resp.StatusCode != 200 || resp.Header.Get("Allow") != "POST" {
		t.Errorf("join: %s", resp.Status)
	}
}

func TestNewestBundleWinsATag(t *testing.T) {
	const ref = "registry.k8s.io/pause:3.10"
	older := bundletest.NewWith(t, "older", bundletest.Image{Name: ref, Held: bundletest.RandomImage(t, 1000, 1, "amd64")})
	newer := bundletest.NewWith(t, "newer", bundletest.Image{Name: ref, Held: bundletest.RandomImage(t, 1000, 1, "amd64")})
	redate(t, newer, time.Hour)
	r := start(t, older.Open(t), newer.Open(t))
	want, _ := newer.Images[0].Held.Digest()
	image, err := r.pull(t, ref)
	must(t, err)
	if got, _ := image.Digest(); got != want {
		t.Errorf("the tag is %s, want %s of the newer bundle", got, want)
	}
	byDigest, _ := older.Images[0].Held.Digest()
	if image, err = r.pull(t, "registry.k8s.io/pause@"+byDigest.String()); err != nil {
		t.Errorf("pull the older image by digest: %v", err)
	} else if err := validate.Image(image); err != nil {
		t.Error(err)
	}
}

// redate adds by to the creation time of a bundle.
func redate(t *testing.T, f *bundletest.Fixture, by time.Duration) {
	t.Helper()
	path := filepath.Join(f.Dir, bundle.IndexName)
	data, err := os.ReadFile(path)
	must(t, err)
	var index bundle.Index
	must(t, json.Unmarshal(data, &index))
	index.Created = index.Created.Add(by)
	data, err = json.Marshal(index)
	must(t, err)
	must(t, os.WriteFile(path, data, 0o644))
	f.Sign(t)
}

func TestLockWithoutItsBlobIsRefused(t *testing.T) {
	f := bundletest.New(t)
	b := f.Open(t)
	b.Index().Lock.Images[0].Blobs[0].Digest = "sha256:" + strings.Repeat("0", 64)
	_, err := newCatalog([]*bundle.Bundle{b}, b.FS())
	if err == nil || !strings.Contains(err.Error(), "bundle test: image docker.io/library/nginx:1.27: no bundle of this registry contains blob sha256:000") {
		t.Errorf("got %v", err)
	}
}

func TestSkopeoPulls(t *testing.T) {
	bundletest.Need(t, "skopeo")
	f := bundletest.New(t)
	r := start(t, f.Open(t))
	certs := t.TempDir()
	ca, err := os.ReadFile(r.pki.CAFile())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(certs, "ca.crt"), ca, 0o644))
	for _, image := range f.Images {
		ref, _, _ := strings.Cut(image.Name, "@")
		out, err := exec.Command("skopeo", "copy", "--src-cert-dir", certs, "docker://"+r.addr+"/"+ref, "oci:"+t.TempDir()+":x").CombinedOutput()
		if err != nil {
			t.Errorf("skopeo copy %s: %v\n%s", ref, err, out)
		}
	}
}
