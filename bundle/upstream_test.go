package bundle_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/ui"
)

// upstream is a mirror of every registry and web server.
type upstream struct {
	*httptest.Server
	files map[string][]byte // by HOST/PATH
	spoil atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	bytes atomic.Int64 // sent bytes of blobs
	ca    string
	serve http.HandlerFunc // for requests without a fault

	stalled chan struct{} // closed at the end of the test
}

func newUpstream(t testing.TB, images ...bundletest.Image) *upstream {
	t.Helper()
	u := &upstream{files: map[string][]byte{}, stalled: make(chan struct{})}
	engine := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	u.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if spoil := u.spoil.Load(); spoil != nil && (*spoil)(w, r) {
			return
		}
		u.serve(w, r)
	}))
	u.serve = func(w http.ResponseWriter, r *http.Request) {
		if content, ok := u.files[strings.TrimPrefix(r.URL.Path, "/")]; ok {
			http.ServeContent(w, r, r.URL.Path, time.Time{}, strings.NewReader(string(content)))
			return
		}
		if strings.Contains(r.URL.Path, "/blobs/") {
			w = &counter{w, &u.bytes}
		}
		engine.ServeHTTP(w, r)
	}
	u.Config.ErrorLog = log.New(io.Discard, "", 0)
	u.StartTLS()
	t.Cleanup(u.Close)
	t.Cleanup(func() { close(u.stalled) })
	u.trust(t)
	for _, image := range images {
		u.push(t, image)
	}
	return u
}

// trust writes the server's certificate to a file for clients.
func (u *upstream) trust(t testing.TB) {
	t.Helper()
	u.ca = filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: u.Certificate().Raw})
	must(t, os.WriteFile(u.ca, block, 0o644))
}

type counter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n.Add(int64(n))
	return n, err
}

func (u *upstream) host() string { return strings.TrimPrefix(u.URL, "https://") }

func (u *upstream) push(t testing.TB, image bundletest.Image) {
	t.Helper()
	ref, err := name.ParseReference(u.host() + "/" + image.Name)
	must(t, err)
	options := []remote.Option{remote.WithTransport(u.Client().Transport)}
	if image.Index != nil {
		must(t, remote.WriteIndex(ref, image.Index, options...))
		return
	}
	must(t, remote.Write(ref, image.Held, options...))
}

func (u *upstream) sources() fetch.Sources {
	return fetch.Sources{CA: u.ca, Rewrite: []fetch.Rewrite{{From: "*", To: u.host()}}}
}

func (u *upstream) client(t testing.TB) *fetch.Client {
	t.Helper()
	c, err := fetch.NewClient(u.sources())
	must(t, err)
	hasten(c)
	return c
}

// request has all these images, and a file with its checksum in another file.
func (u *upstream) request(images ...bundletest.Image) bundle.Request {
	content := []byte(strings.Repeat("runc ", 100_000))
	u.files["github.com/x/releases/runc.amd64"] = content
	u.files["github.com/x/releases/sums"] = fmt.Appendf(nil, "%x *runc.amd64\n", sha256.Sum256(content))
	r := bundle.Request{
		Name: "test", Config: []byte("kind: Cluster\n"), Tool: "test", Created: time.Unix(1_700_000_000, 0), Platform: "linux/amd64",
		Files: []bundle.FileNeed{{Name: "runc", URL: "https://github.com/x/releases/runc.amd64", ChecksumURL: "https://github.com/x/releases/sums", NeededBy: "runtime"}},
	}
	for _, image := range images {
		r.Images = append(r.Images, bundle.Need{Reference: image.Name, NeededBy: "images"})
	}
	return r
}

func (u *upstream) plan(t testing.TB, images ...bundletest.Image) *bundle.Plan {
	t.Helper()
	p, err := bundle.NewPlan(context.Background(), u.client(t), u.request(images...), ui.Discard())
	must(t, err)
	return p
}

// options have small parts, so that files span parts.
func options(t testing.TB) bundle.Options {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return bundle.Options{PartSize: 2 << 20, Signer: key, Stick: []bundle.StickFile{bundle.StickBytes("INSTALL.txt", []byte("read me\n"))}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hasten makes a client give up quickly, for tests of failures.
func hasten(c *fetch.Client) {
	c.Patience = fetch.Patience{Attempts: 3, Pause: time.Millisecond, Stall: 2 * time.Second, Answer: 2 * time.Second, Content: 2 * time.Second}
}
