package existing

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/distribution/v3/registry/storage/driver/factory"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/sirupsen/logrus"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry/files"
)

const (
	pusher   = "ci"
	password = "s3cret:with colon"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const driverName = "site"

// enterProcess registers the storage driver, and switches the log of the distribution registry off.
var enterProcess = sync.OnceFunc(func() {
	factory.Register(driverName, driverFactory{})
	logrus.SetOutput(io.Discard)
})

type driverFactory struct{}

func (driverFactory) Create(_ context.Context, parameters map[string]any) (storagedriver.StorageDriver, error) {
	return parameters[driverName].(storagedriver.StorageDriver), nil
}

// siteRegistry is a registry of the site: the distribution registry, with hooks that a test can set.
type siteRegistry struct {
	Registry

	before func(http.ResponseWriter, *http.Request) bool // returns false if it has answered the request
	after  func(*http.Request)                           // runs after the engine has answered
	sent   sync.Map                                      // digests of layers and configurations that clients sent
}

// newSiteRegistry starts a registry without login. A test can set requireLogin.
func newSiteRegistry(t testing.TB, path string) *siteRegistry {
	t.Helper()
	enterProcess()
	driver, err := files.Open(t.TempDir())
	must(t, err)
	app := handlers.NewApp(t.Context(), &configuration.Configuration{Storage: configuration.Storage{
		driverName: {driverName: driver}, "maintenance": {"uploadpurging": map[any]any{"enabled": false}},
	}})
	b := &siteRegistry{before: func(http.ResponseWriter, *http.Request) bool { return true }, after: func(*http.Request) {}}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if digest := r.URL.Query().Get("digest"); r.Method == http.MethodPut && digest != "" {
			b.sent.Store(digest, true)
		}
		if b.before(w, r) {
			app.ServeHTTP(w, r)
			b.after(r)
		}
	}))
	t.Cleanup(server.Close)
	b.Address = server.Listener.Addr().String() + path
	b.CA = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return b
}

// requireLogin requires a user's password for every request, as the htpasswd option of the
// distribution registry does.
func requireLogin(user, password string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		u, p, _ := r.BasicAuth()
		if u == user && p == password {
			return true
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="bank"`)
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
		return false
	}
}

// sentBlobs returns the number of layers and configurations that clients sent. A request of an
// earlier, failed push may arrive during the next push, so each digest counts once.
func (b *siteRegistry) sentBlobs() int {
	n := 0
	b.sent.Range(func(any, any) bool { n++; return true })
	return n
}

func (e Registry) host() string { host, _ := e.split(); return host }

func (e Registry) image(t testing.TB, ref string) (v1.Image, error) {
	t.Helper()
	parsed, err := name.ParseReference(ref)
	must(t, err)
	rt, err := e.transport(httpclient.NoProxies())
	must(t, err)
	return remote.Image(parsed, remote.WithTransport(rt), remote.WithContext(t.Context()))
}

func lockOf(t testing.TB, f *bundletest.Fixture) []bundle.Image { return f.Open(t).Index().Lock.Images }

// TestPushToExisting: after the push the registry has all images, below a path with their upstream
// host. A second push sends nothing.
func TestPushToExisting(t *testing.T) {
	f := bundletest.New(t)
	b := newSiteRegistry(t, "/airgap")
	missing, err := b.Missing(t.Context(), lockOf(t, f))
	must(t, err)
	if len(missing) != len(f.Images) {
		t.Errorf("an empty registry misses only %v", missing)
	}
	pushed, err := b.Push(t.Context(), bundle.NewView(f.Open(t)), nil, ui.Discard())
	must(t, err)
	if len(pushed) != len(f.Images) {
		t.Fatalf("pushed: %+v", pushed)
	}
	for _, p := range pushed {
		if p.Unchanged() || p.Moved() {
			t.Errorf("into an empty registry: %+v", p)
		}
		image, err := b.image(t, p.Target)
		must(t, err)
		if err := validate.Image(image); err != nil {
			t.Errorf("%s: %v", p.Target, err)
		}
		if has, err := b.Has(t.Context(), strings.SplitN(p.Image, ":", 2)[0], p.Digest); !has || err != nil {
			t.Errorf("Has %s: %t, %v", p.Image, has, err)
		}
	}
	if missing, err := b.Missing(t.Context(), lockOf(t, f)); err != nil || len(missing) > 0 {
		t.Errorf("after the push, %v are missing (%v)", missing, err)
	}
	if has, err := b.Has(t.Context(), "quay.io/org/app", "sha256:"+strings.Repeat("0", 64)); has || err != nil {
		t.Errorf("Has of an unknown digest: %t, %v", has, err)
	}
	b.sent.Clear()
	pushed, err = b.Push(t.Context(), bundle.NewView(f.Open(t)), nil, ui.Discard())
	must(t, err)
	for _, p := range pushed {
		if !p.Unchanged() {
			t.Errorf("second push: %+v", p)
		}
	}
	if n := b.sentBlobs(); n > 0 {
		t.Errorf("%d layers and configurations were sent again", n)
	}
}

// TestPushOfOnePlatform: some registries require all platforms of an index. Then the tag becomes the
// one platform of the bundle. With a digest, the push fails.
func TestPushOfOnePlatform(t *testing.T) {
	image := bundletest.StandardImages(t)[2]
	index, err := image.Index.Digest()
	must(t, err)
	held, err := image.Held.Digest()
	must(t, err)
	b := newSiteRegistry(t, "")
	pushed, err := b.Push(t.Context(), bundle.NewView(bundletest.NewWith(t, "test", image).Open(t)), nil, ui.Discard())
	must(t, err)
	if p := pushed[0]; !p.Platform || p.Digest != held.String() {
		t.Errorf("%+v, want the platform's manifest %s", p, held)
	}
	for _, tag := range []string{"", ":3.10.2"} {
		pinned := image
		pinned.Name = "registry.k8s.io/pause" + tag + "@" + index.String()
		f := bundletest.NewWith(t, "test", pinned)
		pushed, err = b.Push(t.Context(), bundle.NewView(f.Open(t)), nil, ui.Discard())
		if err == nil || len(pushed) > 0 || !strings.Contains(err.Error(), "only with all its platforms") {
			t.Errorf("%s: %+v, %v", pinned.Name, pushed, err)
		}
		if missing, err := b.Missing(t.Context(), lockOf(t, f)); err != nil || len(missing) != 1 {
			t.Errorf("%s: missing are %v (%v)", pinned.Name, missing, err)
		}
	}
}

// TestPushOfADelta: layers of the base are not needed again. Without the base, the error says that
// they are missing.
func TestPushOfADelta(t *testing.T) {
	base, delta := bundletest.BaseAndDelta(t)
	b := newSiteRegistry(t, "/airgap")
	if _, err := b.Push(t.Context(), bundle.NewView(delta.Open(t)), nil, ui.Discard()); !errors.Is(err, errLeftOut) {
		t.Errorf("without its base: %v", err)
	}
	_, err := b.Push(t.Context(), bundle.NewView(base.Open(t)), nil, ui.Discard())
	must(t, err)
	pushed, err := b.Push(t.Context(), bundle.NewView(delta.Open(t)), nil, ui.Discard())
	must(t, err)
	for _, p := range pushed {
		if moved := p.Image == delta.Images[0].Name; p.Moved() != moved {
			t.Errorf("moved: want %t of %+v", moved, p)
		}
	}
}

// TestPushOfADeltaOnOtherImagesLayers: a layer that the base has in another image is mounted from
// there.
func TestPushOfADeltaOnOtherImagesLayers(t *testing.T) {
	base := bundletest.New(t)
	tool := bundletest.Image{Name: "docker.io/bank/tool:1", Held: base.Images[1].Held} // its name comes first
	delta := base.Delta(t, "test-delta-1", append(slices.Clone(base.Images), tool)...)
	b := newSiteRegistry(t, "/airgap")
	_, err := b.Push(t.Context(), bundle.NewView(base.Open(t)), nil, ui.Discard())
	must(t, err)
	_, err = b.Push(t.Context(), bundle.NewView(delta.Open(t)), nil, ui.Discard())
	must(t, err)
	image, err := b.image(t, b.Address+"/"+tool.Name)
	must(t, err)
	must(t, validate.Image(image))
}

// TestPushGoesOn: a second push does not send the layers again that the registry has.
func TestPushGoesOn(t *testing.T) {
	f := bundletest.New(t)
	b := newSiteRegistry(t, "/airgap")
	var full atomic.Bool
	var begun atomic.Int64
	full.Store(true)
	firstDone := make(chan struct{})
	b.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || !full.Load() || begun.Add(1) == 1 {
			return true
		}
		<-firstDone // an error cancels parallel requests
		http.Error(w, "the disk is full", http.StatusInsufficientStorage)
		return false
	}
	b.after = func(r *http.Request) {
		if r.Method == http.MethodPut && full.Load() {
			close(firstDone)
		}
	}
	if _, err := b.Push(t.Context(), bundle.NewView(f.Open(t)), nil, ui.Discard()); err == nil || !strings.Contains(err.Error(), "507") {
		t.Errorf("with a full disk: %v", err)
	}
	b.sent.Clear()
	full.Store(false)
	_, err := b.Push(t.Context(), bundle.NewView(f.Open(t)), nil, ui.Discard())
	must(t, err)
	if repeated := b.sentBlobs(); repeated == 0 || repeated >= 7 {
		t.Errorf("%d of 7 layers and configurations were sent by the second push", repeated)
	}
}

// TestPushOfDamage: a damaged layer is not pushed, and no tag is created.
func TestPushOfDamage(t *testing.T) {
	f := bundletest.New(t)
	opened := f.Open(t)
	layers, err := f.Images[0].Held.Layers()
	must(t, err)
	damaged, err := layers[0].Digest()
	must(t, err)
	f.Flip(t, bundle.BlobPath(damaged.String()))
	b := newSiteRegistry(t, "/airgap")
	pushed, err := b.Push(t.Context(), bundle.NewView(opened), nil, ui.Discard())
	if !errors.Is(err, bundle.ErrDamaged) || len(pushed) > 0 {
		t.Errorf("%+v, %v", pushed, err)
	}
	if missing, err := b.Missing(t.Context(), opened.Index().Lock.Images); err != nil || len(missing) != len(f.Images) {
		t.Errorf("missing are %v (%v)", missing, err)
	}
}

// TestPushLogsIn with a given password, and with the password in the files of docker and podman.
// Missing reports that nodes need a login to pull.
func TestPushLogsIn(t *testing.T) {
	f := bundletest.New(t)
	b := newSiteRegistry(t, "/airgap")
	b.before = requireLogin(pusher, password)
	v := bundle.NewView(f.Open(t))
	if _, err := b.Push(t.Context(), v, nil, ui.Discard()); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a password: %v", err)
	}
	if _, err := b.Push(t.Context(), v, &authn.Basic{Username: pusher, Password: "wrong"}, ui.Discard()); err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("with a wrong password: %v", err)
	}
	_, err := b.Push(t.Context(), v, &authn.Basic{Username: pusher, Password: password}, ui.Discard())
	must(t, err)
	docker := t.TempDir()
	t.Setenv("DOCKER_CONFIG", docker)
	must(t, os.WriteFile(filepath.Join(docker, "config.json"), fmt.Appendf(nil, `{"auths":{%q:{"username":%q,"password":%q}}}`, b.host(), pusher, password), 0o600))
	_, err = b.Push(t.Context(), v, nil, ui.Discard())
	must(t, err)
	if _, err := b.Missing(t.Context(), lockOf(t, f)); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("Missing without a password: %v", err)
	}
}

// TestPushKeepsToHTTPS: also a registry in a private network must not get a password over HTTP.
func TestPushKeepsToHTTPS(t *testing.T) {
	var requests atomic.Int64
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(plain.Close)
	e := Registry{Address: plain.Listener.Addr().String() + "/airgap"}
	_, err := e.Push(t.Context(), bundle.NewView(bundletest.New(t).Open(t)), &authn.Basic{Username: pusher, Password: password}, ui.Discard())
	if err == nil || requests.Load() > 0 {
		t.Errorf("%d plain requests, %v", requests.Load(), err)
	}
}

func TestExistingRefuses(t *testing.T) {
	for name, e := range map[string]Registry{
		"no host":        {Address: "/airgap"},
		"a URL":          {Address: "https://harbor.bank/airgap"},
		"upper case":     {Address: "harbor.bank/Airgap"},
		"a quote":        {Address: "harbor.bank/a\"b"},
		"no certificate": {Address: "harbor.bank/airgap", CA: "hello"},
		"no address":     {},
		"Docker Hub":     {Address: "harbor/airgap"},
	} {
		if err := e.Check(); err == nil {
			t.Errorf("%s: Check accepts %+v", name, e)
		}
	}
}
