package registry

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"golang.org/x/crypto/bcrypt"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

const (
	pusher   = "ci"
	password = "s3cret:with colon"
)

// startSite starts a registry with bundles and one user who may push.
func startSite(t testing.TB, bundles ...*bundle.Bundle) (*running, string) {
	t.Helper()
	users, pushed := filepath.Join(t.TempDir(), "htpasswd"), t.TempDir()
	writeUser(t, users)
	return startWith(t, Options{Bundles: bundles, Pushed: pushed, Users: users}), pushed
}

func writeUser(t testing.TB, file string) {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	must(t, err)
	must(t, os.WriteFile(file, fmt.Appendf(nil, "%s:%s\n", pusher, hash), 0o600))
}

func (r *running) ref(t testing.TB, ref string) name.Reference {
	t.Helper()
	parsed, err := name.ParseReference(r.addr + "/" + ref)
	must(t, err)
	return parsed
}

// login returns the options of go-containerregistry for the user who may push.
func (r *running) login() []remote.Option {
	return []remote.Option{
		remote.WithTransport(r.client.Transport),
		remote.WithAuth(&authn.Basic{Username: pusher, Password: password}),
	}
}

func TestPushAndPull(t *testing.T) {
	f := bundletest.New(t)
	r, _ := startSite(t, f.Open(t))
	for _, ref := range []string{"team/app:1", "app:1", "bank-example/team/app:1", "library/nginx:ours"} {
		image := bundletest.RandomImage(t, 100_000, 3, "amd64")
		must(t, remote.Write(r.ref(t, ref), image, r.login()...))
		got, err := r.pull(t, ref)
		if err != nil {
			t.Errorf("%s: %v", ref, err)
			continue
		}
		must(t, validate.Image(got))
		if want, _ := image.Digest(); digestOf(t, got) != want.String() {
			t.Errorf("%s is %s, want %s", ref, digestOf(t, got), want)
		}
	}
}

func digestOf(t testing.TB, image v1.Image) string {
	t.Helper()
	d, err := image.Digest()
	must(t, err)
	return d.String()
}

// TestPushesStay: pushed images exist after a restart, also with other bundles.
func TestPushesStay(t *testing.T) {
	users, pushed := filepath.Join(t.TempDir(), "htpasswd"), t.TempDir()
	writeUser(t, users)
	image := bundletest.RandomImage(t, 10_000, 2, "amd64")
	t.Run("push", func(t *testing.T) {
		r := startWith(t, Options{Pushed: pushed, Users: users})
		must(t, remote.Write(r.ref(t, "team/app:1"), image, r.login()...))
	})
	t.Run("pull", func(t *testing.T) {
		r := startWith(t, Options{Bundles: []*bundle.Bundle{bundletest.New(t).Open(t)}, Pushed: pushed, Users: users})
		got, err := r.pull(t, "team/app:1")
		must(t, err)
		must(t, validate.Image(got))
	})
}

// TestPushOnABundlesLayers: a pushed image may use layers of a bundle. They are not stored again.
func TestPushOnABundlesLayers(t *testing.T) {
	f := bundletest.New(t)
	r, pushed := startSite(t, f.Open(t))
	inBundle := f.Images[0].Held
	must(t, remote.Write(r.ref(t, "team/base:1"), inBundle, r.login()...))
	got, err := r.pull(t, "team/base:1")
	must(t, err)
	must(t, validate.Image(got))
	layers, err := inBundle.Layers()
	must(t, err)
	for _, layer := range layers {
		d, err := layer.Digest()
		must(t, err)
		if _, err := os.Stat(filepath.Join(pushed, engineRoot, "blobs/sha256", d.Hex[:2], d.Hex)); err == nil {
			t.Errorf("layer %s was written again", d)
		}
	}
}

// TestBundlesAreNotPushedOver: a user cannot replace images of a signed bundle.
func TestBundlesAreNotPushedOver(t *testing.T) {
	f := bundletest.New(t)
	r, _ := startSite(t, f.Open(t))
	ref := r.ref(t, "docker.io/library/nginx:1.27")
	err := remote.Write(ref, bundletest.RandomImage(t, 1000, 1, "amd64"), r.login()...)
	if err == nil || !strings.Contains(err.Error(), "is an image of a bundle") {
		t.Errorf("push over an image of a bundle: %v", err)
	}
	inBundle, err := r.pull(t, "docker.io/library/nginx:1.27")
	must(t, err)
	if want := digestOf(t, f.Images[0].Held); digestOf(t, inBundle) != want {
		t.Errorf("the tag is %s, want %s", digestOf(t, inBundle), want)
	}
	for _, path := range []string{
		"/v2/docker.io/library/nginx/manifests/1.27",
		"/v2/docker.io/library/nginx/manifests/" + digestOf(t, inBundle),
	} {
		resp, body, err := r.get(t, http.MethodDelete, path, "Authorization", "Bearer "+r.userToken(t))
		if err != nil || resp.StatusCode != http.StatusForbidden || !bytes.Contains(body, []byte("is an image of a bundle")) {
			t.Errorf("delete %s: %s, %v: %s", path, resp.Status, err, body)
		}
	}
	if _, err := r.pull(t, "docker.io/library/nginx:1.27"); err != nil {
		t.Error(err)
	}
}

// TestDamagedPush: a pushed layer that is damaged on the disk is never served completely.
func TestDamagedPush(t *testing.T) {
	r, pushed := startSite(t)
	image := bundletest.RandomImage(t, 3<<20, 1, "amd64")
	must(t, remote.Write(r.ref(t, "team/app:1"), image, r.login()...))
	layer, data := firstLayer(t, image)
	file := filepath.Join(pushed, engineRoot, "blobs/sha256", layer[7:9], layer[7:], "data")
	content, err := os.ReadFile(file)
	must(t, err)
	content[len(content)/3] ^= 1
	must(t, os.WriteFile(file, content, 0o600))
	_, body, err := r.get(t, http.MethodGet, "/v2/team/app/blobs/"+layer)
	if err == nil || len(body) >= len(data) {
		t.Errorf("%d of %d bytes, %v", len(body), len(data), err)
	}
	if !strings.Contains(r.log.String(), "the content does not match the digest") {
		t.Errorf("log:\n%s", r.log)
	}
}

func TestFullDisk(t *testing.T) {
	users := filepath.Join(t.TempDir(), "htpasswd")
	writeUser(t, users)
	c, err := newCatalog(nil, nil)
	must(t, err)
	s, err := newStorage(c, t.TempDir(), nil)
	must(t, err)
	p, err := newPushes(c, s, users, discard())
	must(t, err)
	p.free = func() (int64, error) { return reserve + 10, nil }
	for size, want := range map[int64]int{10: 0, 11: http.StatusInsufficientStorage, -1: 0} {
		req, err := http.NewRequest(http.MethodPatch, "/v2/team/app/blobs/uploads/x", nil)
		must(t, err)
		req.ContentLength = size
		got := 0
		if problem := p.conflict(req, v2Path{"team/app", uploads, "x"}); problem != nil {
			got = problem.status
		}
		if got != want {
			t.Errorf("%d bytes: %d, want %d", size, got, want)
		}
	}
}

// TestFullDiskMeanwhile: the disk can fill up during a push, even if it had space at the start.
func TestFullDiskMeanwhile(t *testing.T) {
	left := int64(reserve)
	free := func() (int64, error) { return left, nil } //nolint:unparam // the type of the field
	u := &upload{ReadCloser: io.NopCloser(strings.NewReader("abcd")), control: http.NewResponseController(httptest.NewRecorder()), check: func() error { return checkFree(free) }}
	r := &limitedReader{Reader: strings.NewReader("abcd"), free: free}
	for operation, from := range map[string]io.Reader{"push": u, "copy": r} {
		left = reserve
		if n, err := from.Read(make([]byte, 2)); n != 2 || err != nil {
			t.Errorf("%s: %d, %v", operation, n, err)
		}
		left = reserve - 1
		u.extended, r.checked = time.Time{}, time.Time{}
		if _, err := from.Read(make([]byte, 2)); err == nil || !strings.Contains(err.Error(), "are free on the registry's disk") {
			t.Errorf("%s with a full disk: %v", operation, err)
		}
	}
}

// TestSkopeoPushesAndPulls: skopeo queries /v2/ first, logs in with a password, and reads without one.
func TestSkopeoPushesAndPulls(t *testing.T) {
	bundletest.Need(t, "skopeo")
	f := bundletest.New(t)
	r, _ := startSite(t, f.Open(t))
	dir, certs := t.TempDir(), t.TempDir()
	ca, err := os.ReadFile(r.pki.CAFile())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(certs, "ca.crt"), ca, 0o600))
	auth := filepath.Join(t.TempDir(), "auth.json")
	must(t, os.WriteFile(auth, []byte("{}"), 0o600))
	skopeo := func(stdin string, args ...string) {
		t.Helper()
		cmd := exec.Command("skopeo", args...)
		cmd.Env = append(os.Environ(), "REGISTRY_AUTH_FILE="+auth)
		cmd.Stdin = strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("skopeo %v: %v\n%s", args, err, out)
		}
	}
	insecure := "--insecure-policy"
	skopeo("", insecure, "copy", "--src-cert-dir", certs, "docker://"+r.addr+"/docker.io/library/nginx:1.27", "oci:"+dir+"/pulled:1")
	skopeo(password, "login", "--cert-dir", certs, "--username", pusher, "--password-stdin", r.addr)
	skopeo("", insecure, "copy", "--dest-cert-dir", certs, "oci:"+dir+"/pulled:1", "docker://"+r.addr+"/team/nginx:1")
	skopeo("", insecure, "copy", "--src-cert-dir", certs, "docker://"+r.addr+"/team/nginx:1", "oci:"+dir+"/back:1")
	skopeo("", "delete", "--cert-dir", certs, "docker://"+r.addr+"/team/nginx:1")
	if _, err := r.pull(t, "team/nginx:1"); err == nil {
		t.Error("the deleted tag still exists")
	}
}

// send sends a request with a body as the user who may push.
func (r *running) send(t testing.TB, method, path string, body []byte, header ...string) (*http.Response, []byte) {
	t.Helper()
	if !strings.HasPrefix(path, "https://") {
		path = r.url(path)
	}
	req, err := http.NewRequest(method, path, bytes.NewReader(body))
	must(t, err)
	req.SetBasicAuth(pusher, password)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.client.Do(req)
	must(t, err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp, content
}

// TestPushesThatCannotBeOpened: if the directory of pushes is unusable, the bundles are served, and the health report has the reason.
func TestPushesThatCannotBeOpened(t *testing.T) {
	f := bundletest.New(t)
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	r := startWith(t, Options{Bundles: []*bundle.Bundle{f.Open(t)}, Pushed: filepath.Join(file, "pushed")})
	if _, err := r.pull(t, "registry.k8s.io/pause:3.10.2"); err != nil {
		t.Error(err)
	}
	found := Compare(t.Context(), []*Client{r.peer(t)})
	if len(found) != 1 || !strings.Contains(found[0].Saw, "pushes are disabled: ") {
		t.Errorf("%+v", found)
	}
}

// TestPushesAreLogged: the log contains user and image of each push and deletion.
func TestPushesAreLogged(t *testing.T) {
	r, _ := startSite(t)
	must(t, remote.Write(r.ref(t, "team/app:1"), bundletest.RandomImage(t, 1000, 1, "amd64"), r.login()...))
	must(t, remote.Delete(r.ref(t, "team/app:1"), r.login()...))
	for _, want := range []string{
		`"msg":"pushed","user":"ci","repository":"team/app","reference":"1"`,
		`"msg":"deleted","user":"ci","repository":"team/app","reference":"1"`,
	} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("no %s in\n%s", want, r.log)
		}
	}
}
