package bundle_test

import (
	"html"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/bundle/papers"
)

// TestRemarks: unusual properties of an included image are reported once, and usual
// ones are not.
func TestRemarks(t *testing.T) {
	for name, tc := range map[string]struct {
		make func(s *shelf) ocispec.Descriptor
		says []string
	}{
		"usual": {func(s *shelf) ocispec.Descriptor {
			return s.index(on("linux/amd64", s.image("linux/amd64")), on("linux/arm64", s.image("linux/arm64")), on("unknown/unknown", s.image("")))
		}, nil},
		"levels of x86-64": {func(s *shelf) ocispec.Descriptor {
			return s.index(on("linux/amd64/v3", s.image("linux/amd64/v3")), on("linux/amd64", s.image("linux/amd64")), on("linux/amd64/v2", s.image("linux/amd64/v2")))
		}, []string{"the bundle has the manifest that containerd uses on every x86-64 processor, without the manifests for linux/amd64/v2 and linux/amd64/v3"}},
		"features": {func(s *shelf) ocispec.Descriptor {
			return s.index(on("linux/amd64", s.image("linux/amd64")), on("linux/amd64", s.image("linux/amd64"), osFeatures("sse4")))
		}, []string{"without the manifests for linux(+sse4)/amd64"}},
		"two for one platform": {func(s *shelf) ocispec.Descriptor {
			return s.index(on("linux/amd64", s.image("linux/amd64")), on("linux/amd64", s.image("linux/amd64")))
		}, []string{"the index has several manifests for linux/amd64"}},
		"another configuration": {func(s *shelf) ocispec.Descriptor { return s.index(on("linux/amd64", s.image("linux/arm64"))) },
			[]string{"the platform in its configuration is linux/arm64"}},
		"a level without an index": {func(s *shelf) ocispec.Descriptor { return s.image("linux/amd64/v3") },
			[]string{"the platform in its configuration is linux/amd64/v3"}},
		"non-distributable": {func(s *shelf) ocispec.Descriptor {
			return s.image("linux/amd64", layers(s.layer("application/vnd.oci.image.layer.nondistributable.v1.tar+zstd")))
		}, []string{"some layers are marked as non-distributable"}},
	} {
		s := &shelf{blobs: map[digest.Digest][]byte{}}
		s.top = tc.make(s)
		p, err := planShelf(t, s, "quay.io/x/shape:1")
		must(t, err)
		if len(p.Remarks) != len(tc.says) {
			t.Errorf("%s: %q", name, p.Remarks)
		}
		for _, says := range tc.says {
			if !slices.ContainsFunc(p.Remarks, func(r string) bool {
				return strings.HasPrefix(r, "image quay.io/x/shape:1: ") && strings.Contains(r, says)
			}) {
				t.Errorf("%s: %q, want %q", name, p.Remarks, says)
			}
			page, err := papers.Report(p, "SHA256:key")
			must(t, err)
			if !strings.Contains(string(page), strings.ReplaceAll(html.EscapeString(says), "+", "&#43;")) {
				t.Errorf("%s: %q is missing in the report", name, says)
			}
		}
	}
}

// TestLockOfAShape: registries and older bundles rely on the order of the blobs in a
// lock: the top, the manifest that runs, and children before their parents.
func TestLockOfAShape(t *testing.T) {
	s := &shelf{blobs: map[digest.Digest][]byte{}}
	image := s.image("linux/amd64")
	inner := s.index(on("linux/amd64", image))
	outer := s.index(inner)
	s.top = s.index(outer)
	p, err := planShelf(t, s, "quay.io/x/shape:1")
	must(t, err)
	var got []digest.Digest
	for _, b := range p.Lock.Images[0].Blobs {
		if b.MediaType == ociIndex || b.MediaType == ociManifest {
			got = append(got, digest.Digest(b.Digest))
		}
	}
	if want := []digest.Digest{s.top.Digest, image.Digest, inner.Digest, outer.Digest}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
