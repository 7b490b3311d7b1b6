package registry

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/bundle/bundletest"
)

// TestForeignLayerElsewhere: a push refuses an image with a layer outside of the registry, as a plan
// does. A server without internet access could not run it.
func TestForeignLayerElsewhere(t *testing.T) {
	s := newRegistryHost(t)
	s.follow(t)
	elsewhere := static.NewLayer([]byte("a layer of another registry"), types.DockerForeignLayer)
	image, err := mutate.Append(empty.Image, mutate.Addendum{Layer: elsewhere, MediaType: types.DockerForeignLayer, URLs: []string{"https://layers.example/1"}})
	must(t, err)
	if err := remote.Write(s.ref(t, "team/foreign:1"), image, s.login()...); err == nil || !strings.Contains(err.Error(), "is outside the registry") {
		t.Error(err)
	}
}

// TestBlobsBelowDiamond: with indexes that list each other twice, the work doubles with each level,
// unless each index is read once.
func TestBlobsBelowDiamond(t *testing.T) {
	s := newRegistryHost(t)
	s.follow(t)
	image := bundletest.RandomImage(t, 1000, 1, "amd64")
	must(t, remote.Write(s.ref(t, "team/diamond:1"), image, s.login()...))
	raw, err := image.RawManifest()
	must(t, err)
	at := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
	const height = 24
	for range height {
		text, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageIndex, "manifests": []ocispec.Descriptor{at, at}})
		must(t, err)
		at = ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: digest.FromBytes(text), Size: int64(len(text))}
		if resp, answer := s.send(t, http.MethodPut, "/v2/team/diamond/manifests/"+at.Digest.String(), text, "Content-Type", at.MediaType); resp.StatusCode != http.StatusCreated {
			t.Fatalf("%s: %s", resp.Status, answer)
		}
	}
	storage, err := newStorage(&catalog{}, s.pushed, nil)
	must(t, err)
	defer storage.files.Close()
	n, err := storage.namespace(t.Context())
	must(t, err)
	r, err := openRepository(t.Context(), n, "team/diamond")
	must(t, err)
	began := time.Now()
	below, err := r.blobsBelow(t.Context(), at.Digest)
	must(t, err)
	if len(below) != height+3 {
		t.Errorf("%d blobs, want %d indexes, manifest, configuration and layer", len(below), height)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}

// TestPeersManifestTooLarge: a manifest above the limit is an error. A truncated one would look damaged.
func TestPeersManifestTooLarge(t *testing.T) {
	s := newRegistryHost(t)
	s.start(t, Options{Join: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat(" ", maxManifest+1)))
	})})
	_, _, err := s.peer(t).manifest(t.Context(), "../join/x", digest.FromString("x"))
	if err == nil || !strings.Contains(err.Error(), "more than 4194304 bytes") {
		t.Error(err)
	}
}
