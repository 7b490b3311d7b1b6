package bundle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"
	"github.com/containerd/platforms"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/ui"
)

// The media types of the shapes.
const (
	ociIndex       = ocispec.MediaTypeImageIndex
	ociManifest    = ocispec.MediaTypeImageManifest
	ociConfig      = ocispec.MediaTypeImageConfig
	ociGzip        = ocispec.MediaTypeImageLayerGzip
	dockerList     = images.MediaTypeDockerSchema2ManifestList
	dockerManifest = images.MediaTypeDockerSchema2Manifest
	dockerConfig   = images.MediaTypeDockerSchema2Config
	dockerGzip     = images.MediaTypeDockerSchema2LayerGzip
)

// shelf is a registry of one repository with exact bytes, because the registry of
// go-containerregistry refuses most of these shapes.
type shelf struct {
	mu    sync.Mutex
	blobs map[digest.Digest][]byte
	top   ocispec.Descriptor // target of the tag
	typed string             // Content-Type of the answer for the top
	n     int                // number of created layers
}

func (s *shelf) bytes(mediaType string, content []byte) ocispec.Descriptor {
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
	s.blobs[d.Digest] = content
	return d
}

func (s *shelf) json(mediaType string, v any) ocispec.Descriptor {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return s.bytes(mediaType, text)
}

func (s *shelf) layer(mediaType string) ocispec.Descriptor {
	s.n++
	return s.bytes(mediaType, fmt.Appendf(nil, "layer %d", s.n))
}

// config is a configuration of n layers; its platform is os/arch or os/arch/variant, ""
// for none.
func (s *shelf) config(mediaType, platform string, n int) ocispec.Descriptor {
	ids := make([]digest.Digest, n)
	for i := range ids {
		ids[i] = digest.FromString(fmt.Sprint(i))
	}
	c := map[string]any{"rootfs": map[string]any{"type": "layers", "diff_ids": ids}, "n": s.n}
	for i, key := range []string{"os", "architecture", "variant"} {
		if parts := strings.Split(platform, "/"); i < len(parts) && parts[i] != "" {
			c[key] = parts[i]
		}
	}
	return s.json(mediaType, c)
}

type manifestOf struct {
	SchemaVersion int                  `json:"schemaVersion"`
	MediaType     string               `json:"mediaType,omitempty"`
	ArtifactType  string               `json:"artifactType,omitempty"`
	Config        any                  `json:"config,omitempty"`
	Layers        []ocispec.Descriptor `json:"layers"`
	Subject       any                  `json:"subject,omitempty"`
}

// image is a manifest with one layer, for the platform.
func (s *shelf) image(platform string, change ...func(*manifestOf)) ocispec.Descriptor {
	l := s.layer(ociGzip)
	m := manifestOf{2, ociManifest, "", s.config(ociConfig, platform, 1), []ocispec.Descriptor{l}, nil}
	for _, c := range change {
		c(&m)
	}
	return s.json(ociManifest, m)
}

func (s *shelf) docker(platform string) ocispec.Descriptor {
	l := s.layer(dockerGzip)
	return s.json(dockerManifest, manifestOf{2, dockerManifest, "", s.config(dockerConfig, platform, 1), []ocispec.Descriptor{l}, nil})
}

func (s *shelf) index(entries ...ocispec.Descriptor) ocispec.Descriptor {
	return s.json(ociIndex, map[string]any{"schemaVersion": 2, "mediaType": ociIndex, "manifests": entries})
}

// on sets the platform of a descriptor: os/arch[/variant].
func on(platform string, d ocispec.Descriptor, more ...func(*ocispec.Platform)) ocispec.Descriptor {
	p := append(strings.Split(platform, "/"), "", "")
	d.Platform = &ocispec.Platform{OS: p[0], Architecture: p[1], Variant: p[2]}
	for _, m := range more {
		m(d.Platform)
	}
	return d
}

func with(d ocispec.Descriptor, change func(*ocispec.Descriptor)) ocispec.Descriptor {
	change(&d)
	return d
}

func untyped(d *ocispec.Descriptor) { d.MediaType = "" }
func osVersion(v string) func(*ocispec.Platform) {
	return func(p *ocispec.Platform) { p.OSVersion = v }
}
func osFeatures(f ...string) func(*ocispec.Platform) {
	return func(p *ocispec.Platform) { p.OSFeatures = f }
}
func layers(l ...ocispec.Descriptor) func(*manifestOf) {
	return func(m *manifestOf) { m.Layers = l }
}
func configured(c any) func(*manifestOf) { return func(m *manifestOf) { m.Config = c } }

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/v2/")
	at := path[strings.LastIndex(path, "/")+1:]
	if path == "" {
		return
	}
	d, typed := digest.Digest(at), ""
	if at == "1" {
		d, typed = s.top.Digest, s.typed
		if typed == "" {
			typed = s.top.MediaType
		}
	}
	content, has := s.blobs[d]
	if !has {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if strings.Contains(path, "/manifests/") {
		if typed == "" {
			typed = typeOf(content)
		}
		w.Header().Set("Content-Type", typed)
		w.Header().Set("Docker-Content-Digest", d.String())
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	_, _ = w.Write(content)
}

// shape is an image and the expected result.
type shape struct {
	name  string
	build func(s *shelf) ocispec.Descriptor
	// refused is a part of the plan's error; "" if the image is accepted.
	refused string
	// pulls: containerd pulls this refused image, but the pod does not run, or airgap's
	// registry cannot serve it.
	pulls bool
}

// TestShapes plans each shape and lets containerd's library pull the accepted ones. It
// compares the image that runs with the image that runs from the complete upstream.
// containerd must also refuse a refused image, unless the shape has pulls.
func TestShapes(t *testing.T) {
	all := shapes()
	if len(all) < 100 {
		t.Errorf("%d shapes", len(all))
	}
	for _, tc := range all {
		t.Run(tc.name, func(t *testing.T) {
			s := &shelf{blobs: map[digest.Digest][]byte{}}
			s.top = tc.build(s)
			plan, err := planShelf(t, s, "quay.io/x/shape:1")
			theirs, refused := pull(s.blobs, s.top)
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) || !strings.Contains(err.Error(), "image quay.io/x/shape:1 (needed by images)") {
					t.Fatalf("error %v, want %q", err, tc.refused)
				}
				if (refused == nil) != tc.pulls {
					t.Errorf("containerd: %v", refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if refused != nil {
				t.Errorf("accepted, but containerd reports %v", refused)
			}
			carried := map[digest.Digest][]byte{}
			image := plan.Lock.Images[0]
			for _, b := range image.Blobs {
				d := digest.Digest(b.Digest)
				carried[d] = s.blobs[d]
				if int64(len(carried[d])) != b.Size {
					t.Errorf("%s has %d bytes, the lock has %d", d, len(carried[d]), b.Size)
				}
			}
			top := ocispec.Descriptor{MediaType: image.Blobs[0].MediaType, Digest: digest.Digest(image.Digest), Size: image.Blobs[0].Size}
			ours, err := pull(carried, top)
			if err != nil {
				t.Fatalf("containerd cannot pull the accepted image: %v", err)
			}
			if ours.Config.Digest != theirs.Config.Digest {
				t.Errorf("containerd runs %s from the bundle, %s from upstream", ours.Config.Digest, theirs.Config.Digest)
			}
			if runs := manifestConfig(t, carried, digest.Digest(image.Manifest().Digest)); runs != ours.Config.Digest {
				t.Errorf("containerd must run %s according to the lock, but runs %s", runs, ours.Config.Digest)
			}
		})
	}
}

// layerOf is the first layer of a manifest.
func (s *shelf) layerOf(t *testing.T, d ocispec.Descriptor) digest.Digest {
	t.Helper()
	var m ocispec.Manifest
	must(t, json.Unmarshal(s.blobs[d.Digest], &m))
	return m.Layers[0].Digest
}

func manifestConfig(t *testing.T, blobs map[digest.Digest][]byte, d digest.Digest) digest.Digest {
	t.Helper()
	var m ocispec.Manifest
	must(t, json.Unmarshal(blobs[d], &m))
	return m.Config.Digest
}

// typeOf is the media type of a manifest in an answer of a registry.
func typeOf(content []byte) string {
	var m struct {
		MediaType string
		Manifests []any
	}
	_ = json.Unmarshal(content, &m)
	switch {
	case m.MediaType != "":
		return m.MediaType
	case m.Manifests != nil:
		return ociIndex
	}
	return ociManifest
}

func planShelf(t testing.TB, h http.Handler, ref string) (*bundle.Plan, error) {
	t.Helper()
	server := httptest.NewTLSServer(h)
	defer server.Close()
	u := &upstream{Server: server}
	u.trust(t)
	return bundle.NewPlan(t.Context(), u.client(t), bundle.Request{Name: "test", Platform: "linux/amd64", Images: []bundle.Need{{Reference: ref, NeededBy: "images"}}}, ui.Discard())
}

// pull does the work of containerd 2's CRI plugin for an image, with its functions
// where possible: core/transfer/local/pull.go fetches, core/unpack unpacks,
// images.Manifest finds the manifest to run.
func pull(blobs map[digest.Digest][]byte, top ocispec.Descriptor) (ocispec.Manifest, error) {
	return pullFrom(func(d ocispec.Descriptor) ([]byte, error) {
		if content, has := blobs[d.Digest]; has {
			return content, nil
		}
		return nil, fmt.Errorf("%s is not in the registry", d.Digest)
	}, top)
}

func pullFrom(registry func(ocispec.Descriptor) ([]byte, error), top ocispec.Descriptor) (ocispec.Manifest, error) {
	spec := ocispec.Platform{OS: "linux", Architecture: "amd64"} // platforms.DefaultSpec() of any x86-64 processor
	store := provider{}
	fetch := images.HandlerFunc(func(_ context.Context, d ocispec.Descriptor) ([]ocispec.Descriptor, error) {
		switch {
		case d.MediaType == images.MediaTypeDockerSchema1Manifest:
			return nil, errors.New("schema 1")
		case d.Size <= 0:
			return nil, fmt.Errorf("%s: size %d", d.Digest, d.Size)
		case len(d.URLs) > 0 && strings.HasPrefix(d.URLs[0], "https://"):
			return nil, errors.New("no internet access")
		}
		content, err := registry(d)
		if err == nil && int64(len(content)) != d.Size {
			err = fmt.Errorf("%s has %d bytes, want %d", d.Digest, len(content), d.Size)
		}
		if err != nil {
			return nil, err
		}
		store[d.Digest] = content
		return nil, nil
	})
	var unpacking []ocispec.Descriptor
	note := images.HandlerFunc(func(_ context.Context, d ocispec.Descriptor) ([]ocispec.Descriptor, error) {
		if images.IsManifestType(d.MediaType) {
			unpacking = append(unpacking, d)
		}
		return nil, nil
	})
	children := images.FilterPlatforms(images.ChildrenHandler(store), platforms.Ordered(spec))
	if err := images.Walk(context.Background(), images.Handlers(fetch, note, children), top); err != nil {
		return ocispec.Manifest{}, err
	}
	for _, d := range unpacking {
		if err := unpack(store, d, platforms.OnlyStrict(spec)); err != nil {
			return ocispec.Manifest{}, err
		}
	}
	return images.Manifest(context.Background(), store, top, platforms.Only(spec))
}

// unpack has the checks of core/unpack before, and of core/diff during the unpacking.
func unpack(store provider, d ocispec.Descriptor, on platforms.Matcher) error {
	var m ocispec.Manifest
	if err := json.Unmarshal(store[d.Digest], &m); err != nil {
		return err
	}
	var ls []ocispec.Descriptor
	for _, l := range m.Layers {
		if images.IsLayerType(l.MediaType) {
			ls = append(ls, l)
		}
	}
	if len(ls) == 0 || !images.IsConfigType(m.Config.MediaType) {
		return nil
	}
	var c ocispec.Image
	if err := json.Unmarshal(store[m.Config.Digest], &c); err != nil {
		return err
	}
	if len(ls) != len(c.RootFS.DiffIDs) {
		return errors.New("number of layers and diffIDs don't match")
	}
	if !on.Match(platforms.Normalize(c.Platform)) {
		return nil
	}
	for _, l := range ls {
		if _, err := images.DiffCompression(context.Background(), l.MediaType); err != nil || strings.Contains(l.MediaType, "encrypted") {
			return fmt.Errorf("no stream processor for %s", l.MediaType)
		}
	}
	return nil
}

// provider is a content store in memory.
type provider map[digest.Digest][]byte

func (p provider) ReaderAt(_ context.Context, d ocispec.Descriptor) (content.ReaderAt, error) {
	text, has := p[d.Digest]
	if !has {
		return nil, fmt.Errorf("%s: %w", d.Digest, errdefs.ErrNotFound)
	}
	return opened{bytes.NewReader(text)}, nil
}

type opened struct{ *bytes.Reader }

func (opened) Close() error { return nil }
