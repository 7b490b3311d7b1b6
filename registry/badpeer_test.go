package registry

import (
	"context"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/httpclient"
)

// stalling is a registry that stops in the middle of one blob.
type stalling struct {
	http.RoundTripper

	blob string
}

func (s stalling) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := s.RoundTripper.RoundTrip(r)
	if err == nil && path.Base(r.URL.Path) == s.blob {
		response.Body = silent{io.LimitReader(response.Body, 100), response.Body, r.Context()}
	}
	return response, err
}

// silent blocks at its end.
type silent struct {
	io.Reader
	io.Closer

	ctx context.Context //nolint:containedctx // of the request
}

func (s silent) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if n > 0 || err == nil {
		return n, nil
	}
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// TestSilentPeer: a registry that sends nothing more in the middle of a blob does not keep its other images
// from being copied.
func TestSilentPeer(t *testing.T) {
	a := newRegistryHost(t)
	a.follow(t)
	bad, good := bundletest.RandomImage(t, 100_000, 1, "amd64"), bundletest.RandomImage(t, 1000, 1, "amd64")
	must(t, remote.Write(a.ref(t, "team/a-bad:1"), bad, a.login()...))
	must(t, remote.Write(a.ref(t, "team/good:1"), good, a.login()...))
	layer, _ := firstLayer(t, bad)
	peer := a.peer(t)
	peer.http = httpclient.New(httpclient.Unstalled(stalling{peer.http.Transport, layer}, 200*time.Millisecond))
	r := newFollower(t, peer)
	if err := r.catchUp(t.Context()); err == nil || !strings.Contains(err.Error(), "the server stopped sending") {
		t.Error(err)
	}
	if len(r.left["team/good"]) != 0 || len(r.left["team/a-bad"]) != 2 {
		t.Errorf("left: %v", r.left)
	}
}

// TestManifestsOfPeersAreChecked: a manifest that no client could push does not arrive from another host either.
func TestManifestsOfPeersAreChecked(t *testing.T) {
	text := []byte(`{"schemaVersion":2,"mediaType":"` + v1.MediaTypeImageManifest + `","config":{},"layers":[]}`)
	a := newRegistryHost(t)
	a.follow(t)
	peer := a.peer(t)
	peer.http = &http.Client{Transport: answering{text}}
	r := newFollower(t, peer)
	to, err := openRepository(t.Context(), r.namespace, "team/app")
	must(t, err)
	if err := (copier{to, peer, r.referrers, r.free}).copyManifest(t.Context(), digest.FromBytes(text)); err == nil || !strings.Contains(err.Error(), "the manifest refers to") {
		t.Error(err)
	}
}

// answering answers each request with a manifest.
type answering struct{ manifest []byte }

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	header := http.Header{"Content-Type": {v1.MediaTypeImageManifest}}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Header: header, Body: io.NopCloser(strings.NewReader(string(a.manifest))), Request: r}, nil
}
