package bundle_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/containerd/containerd/v2/core/images"
	memory "github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/existing"
)

// TestShapesOnSite writes a bundle of all accepted shapes, opens it, and lets
// containerd's library pull each from airgap's registry. It also checks that airgap
// push copies every blob, and that clients can copy each tag.
func TestShapesOnSite(t *testing.T) {
	shelves := map[string]*shelf{} // by repository
	var order []string
	for i, tc := range shapes() {
		if tc.refused == "" {
			s := &shelf{blobs: map[digest.Digest][]byte{}}
			s.top = tc.build(s)
			repository := fmt.Sprintf("quay.io/shape/n%03d", i)
			shelves[repository] = s
			order = append(order, repository)
		}
	}
	view := bundleOf(t, shelves, order)
	h, err := registry.NewHandler(t.Context(), registry.Options{Bundles: []*bundle.Bundle{view.Top()}, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	site := node{h}
	has := pushEverything(t, view)
	for _, image := range view.Top().Index().Lock.Images {
		repository := strings.TrimSuffix(image.Name, ":1")
		top, err := site.resolve(repository, "1")
		must(t, err)
		if top.Digest.String() != image.Digest {
			t.Errorf("%s: the registry serves %s, want the locked %s", image.Name, top.Digest, image.Digest)
		}
		if is, err := site.copied(repository, "1"); err != nil || is != top.Digest && is.String() != image.Manifest().Digest {
			t.Errorf("%s: clients copy %s: %v", image.Name, is, err)
		}
		runs, err := pullFrom(func(d ocispec.Descriptor) ([]byte, error) { return site.fetch(repository, d) }, top)
		if err != nil {
			t.Errorf("%s: containerd: %v", image.Name, err)
		}
		if locked := manifestConfig(t, shelves[repository].blobs, digest.Digest(image.Manifest().Digest)); runs.Config.Digest != locked {
			t.Errorf("%s: containerd runs %s, want the locked %s", image.Name, runs.Config.Digest, locked)
		}
		for _, b := range image.Blobs {
			if !images.IsManifestType(b.MediaType) && !images.IsIndexType(b.MediaType) && !has[b.Digest] {
				t.Errorf("%s: %s (%s) was not pushed", image.Name, b.Digest, b.MediaType)
			}
		}
	}
}

// bundleOf has one image of each repository.
func bundleOf(t *testing.T, shelves map[string]*shelf, repositories []string) *bundle.View {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for repository, s := range shelves {
			if strings.HasPrefix(r.URL.Path, "/v2/"+repository+"/") {
				s.ServeHTTP(w, r)
			}
		}
	}))
	defer server.Close()
	u := &upstream{Server: server}
	u.trust(t)
	want := bundle.Request{Name: "test", Platform: "linux/amd64"}
	for _, r := range repositories {
		want.Images = append(want.Images, bundle.Need{Reference: r + ":1", NeededBy: "images"})
	}
	p, err := bundle.NewPlan(t.Context(), u.client(t), want, ui.Discard())
	must(t, err)
	dir, o := t.TempDir(), options(t)
	_, err = bundle.Write(t.Context(), p, dir, o, ui.Discard())
	must(t, err)
	b, err := bundle.Open(dir, bundle.PublicOf(o.Signer))
	must(t, err)
	v := bundle.NewView(b)
	t.Cleanup(func() { v.Close() })
	return v
}

// node sends requests to airgap's registry as containerd's resolver and fetcher do: with the upstream
// host in "ns".
type node struct{ registry http.Handler }

func (n node) get(path, accept string) (*http.Response, []byte, error) {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	n.registry.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	if err == nil && w.Code != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", path, w.Code, body)
	}
	return w.Result(), body, err
}

func (n node) resolve(repository, tag string) (ocispec.Descriptor, error) {
	accept := strings.Join([]string{dockerManifest, dockerList, ociManifest, ociIndex, "*/*"}, ", ")
	return n.described("/v2/"+strings.TrimPrefix(repository, "quay.io/")+"/manifests/"+tag+"?ns=quay.io", accept)
}

func (n node) described(path, accept string) (ocispec.Descriptor, error) {
	response, body, err := n.get(path, accept)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return ocispec.Descriptor{MediaType: response.Header.Get("Content-Type"), Digest: digest.FromBytes(body), Size: int64(len(body))}, nil
}

// copied reads everything that a client reads which copies an image by its tag. It returns the digest of
// the tag for such clients.
func (n node) copied(repository, tag string) (digest.Digest, error) {
	top, err := n.described("/v2/"+repository+"/manifests/"+tag, "*/*")
	if err != nil {
		return "", err
	}
	for left := []ocispec.Descriptor{top}; len(left) > 0; left = left[1:] {
		content, err := n.fetch(repository, left[0])
		if err != nil {
			return "", err
		}
		var below struct {
			Config            *ocispec.Descriptor
			Layers, Manifests []ocispec.Descriptor
		}
		if !images.IsManifestType(left[0].MediaType) && !images.IsIndexType(left[0].MediaType) {
			continue
		}
		if err := json.Unmarshal(content, &below); err != nil {
			return "", err
		}
		left = slices.Concat(left, below.Layers, below.Manifests)
		if below.Config != nil {
			left = append(left, *below.Config)
		}
	}
	return top.Digest, nil
}

func (n node) fetch(repository string, d ocispec.Descriptor) ([]byte, error) {
	kind := "blobs"
	if images.IsManifestType(d.MediaType) || images.IsIndexType(d.MediaType) {
		kind = "manifests"
	}
	_, body, err := n.get("/v2/"+repository+"/"+kind+"/"+d.Digest.String(), d.MediaType+", */*")
	return body, err
}

// pushEverything pushes to a registry in memory, and returns the digests of the blobs
// in it.
func pushEverything(t *testing.T, view *bundle.View) map[string]bool {
	t.Helper()
	var mu sync.Mutex
	has := map[string]bool{}
	engine := memory.New(memory.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			mu.Lock()
			has[r.URL.Query().Get("digest")] = true
			mu.Unlock()
		}
		engine.ServeHTTP(w, r)
	}))
	defer server.Close()
	to := existing.Registry{Address: server.Listener.Addr().String(), CA: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))}
	pushed, err := to.Push(context.Background(), view, nil, ui.Discard())
	must(t, err)
	for _, p := range pushed {
		if !p.Platform && p.Digest == "" {
			t.Errorf("pushed %+v", p)
		}
	}
	return has
}
