package registry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/registry/ledger"
)

// newFollower returns a replica of a registry, in an empty directory.
func newFollower(t *testing.T, of *Client) *replica {
	t.Helper()
	c, err := newCatalog(nil, nil)
	must(t, err)
	s, err := newStorage(c, t.TempDir(), nil)
	must(t, err)
	p, err := newPushes(c, s, filepath.Join(t.TempDir(), "htpasswd"), discard())
	must(t, err)
	t.Cleanup(func() { must(t, p.ledger.Close()) })
	n, err := s.namespace(t.Context())
	must(t, err)
	return newReplica(of, p, n, 0, discard())
}

// TestFailedChangesAreAskedForOnce: one image that cannot be copied does not make the other host send all of its
// records again and again. The image arrives after its repair.
func TestFailedChangesAreAskedForOnce(t *testing.T) {
	a := newRegistryHost(t)
	a.follow(t)
	good, bad := bundletest.RandomImage(t, 1000, 1, "amd64"), bundletest.RandomImage(t, 100_000, 1, "amd64")
	must(t, remote.Write(a.ref(t, "team/good:1"), good, a.login()...))
	must(t, remote.Write(a.ref(t, "team/bad:1"), bad, a.login()...))
	layer, _ := firstLayer(t, bad)
	spoil(t, a.pushed, layer)
	r := newFollower(t, a.peer(t))
	for range 2 {
		if err := r.catchUp(t.Context()); err == nil || !strings.Contains(err.Error(), layer) {
			t.Errorf("with a damaged layer: %v", err)
		}
		if r.known == "" || r.left.Count() != 2 || r.Lag().Behind != 2 {
			t.Errorf("cursor %q, left %v, lag %+v", r.known, r.left, r.Lag())
		}
	}
	must(t, remote.Write(a.ref(t, "team/bad:2"), bad, a.login()...))
	must(t, r.catchUp(t.Context()))
	if r.left.Count() != 0 || r.Lag().Behind != 0 {
		t.Errorf("left %v, lag %+v", r.left, r.Lag())
	}
}

// TestBrokenListOfPushes: the pages before a broken one count, so that a slow connection does not start from the first
// page each time.
func TestBrokenListOfPushes(t *testing.T) {
	var asked []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		after := r.URL.Query().Get(ledger.AfterParameter)
		if asked = append(asked, after); after != "" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Header().Set("ETag", `"x-1"`)
		_ = json.NewEncoder(w).Encode(ledger.Records{"team/app": {"1": {Time: time.Now()}}})
	}))
	defer server.Close()
	r := newFollower(t, &Client{base: server.URL, http: server.Client()})
	for range 2 {
		if err := r.catchUp(t.Context()); err == nil || !strings.Contains(err.Error(), "502") {
			t.Error(err)
		}
	}
	if got := fmt.Sprintf("%q", asked); got != `["" "x-1" "x-1"]` {
		t.Errorf("asked for the changes after %s", got)
	}
	if pending, err := r.ledger.Pending(ledger.Records{"team/app": {"1": {Time: time.Now().Add(-time.Hour)}}}); err != nil || pending.Count() != 0 {
		t.Errorf("the first page was not applied: %v, %v", pending, err)
	}
}

// TestDeepIndexesAreCopied: a copy has the manifests of few levels in memory, and all levels arrive.
func TestDeepIndexesAreCopied(t *testing.T) {
	a := newRegistryHost(t)
	a.follow(t)
	e := endpoint{&a.running, t, "team/deep"}
	image := e.manifest("a layer", nil)
	_, d := e.pushManifest("image", image)
	at := v1.Descriptor{MediaType: v1.MediaTypeImageManifest, Digest: d, Size: int64(len(image))}
	const height = 3 * (maxNesting + 2)
	for range height {
		text, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": v1.MediaTypeImageIndex, "manifests": []v1.Descriptor{at}})
		must(t, err)
		at = describe(v1.MediaTypeImageIndex, text)
		if resp, answer := e.send(t, http.MethodPut, e.at("manifests/"+at.Digest.String()), text, "Content-Type", at.MediaType); resp.StatusCode != http.StatusCreated {
			t.Fatalf("%s: %s", resp.Status, answer)
		}
	}
	var asked []string
	peer := a.peer(t)
	peer.http = &http.Client{Transport: countingTransport{peer.http.Transport, func(path string) { asked = append(asked, path) }}}
	r := newFollower(t, peer)
	to, err := openRepository(t.Context(), r.namespace, "team/deep")
	must(t, err)
	if err := (copier{to, peer, r.referrers, r.free}).copyManifest(t.Context(), at.Digest); err == nil || len(asked) != maxNesting+1 {
		t.Errorf("%d manifests in memory, %v", len(asked), err)
	}
	for range height {
		if err = r.catchUp(t.Context()); err == nil {
			break
		}
	}
	must(t, err)
	exists, err := to.manifests.Exists(t.Context(), at.Digest)
	if !exists || err != nil {
		t.Errorf("the top index: %t, %v", exists, err)
	}
}

// countingTransport reports the path of each request.
type countingTransport struct {
	http.RoundTripper

	asked func(path string)
}

func (c countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	c.asked(r.URL.Path)
	return c.RoundTripper.RoundTrip(r)
}
