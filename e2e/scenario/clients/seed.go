package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"airgap.dev/airgap/e2e/scenario"
)

const (
	ownIndex    = "team/two:1"
	ownArtifact = "team/artifact:1"
)

func (s *site) options(ctx context.Context) []remote.Option {
	return []remote.Option{
		remote.WithContext(ctx), remote.WithTransport(s.transport),
		remote.WithAuth(&authn.Basic{Username: scenario.Pusher, Password: s.password}),
	}
}

// seed pushes an image for two platforms, and an artifact with a referrer. It returns the digest of
// the referrer.
func (s *site) seed(ctx context.Context) (referrer string, err error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := imageFor(arch)
		if err != nil {
			return "", err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: untyped{image}, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	at, err := name.ParseReference(s.ours + "/" + ownIndex)
	if err != nil {
		return "", err
	}
	if err := remote.WriteIndex(at, index, s.options(ctx)...); err != nil {
		return "", fmt.Errorf("push %s: %w", ownIndex, err)
	}
	return s.seedArtifact(ctx)
}

// untyped is an image that an index lists without artifactType, as builders of images write an index.
// go-containerregistry would set that field. skopeo up to 1.20 drops it from its copy of an index, and
// then refuses to preserve the digest, with any registry and with directories
// (https://github.com/podman-container-tools/skopeo/issues/2778).
type untyped struct{ v1.Image }

// ArtifactType is what go-containerregistry asks for.
func (untyped) ArtifactType() (string, error) { return "", nil }

func imageFor(arch string) (v1.Image, error) {
	image := empty.Image
	for range 2 { // skopeo and podman refuse an OCI manifest with Docker's layers
		layer, err := random.Layer(100_000, types.OCILayer)
		if err != nil {
			return nil, err
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	return mutate.MediaType(mutate.ConfigMediaType(image, types.OCIConfigJSON), types.OCIManifestSchema1), nil
}

// seedArtifact pushes a text, and a second text that refers to it, as a signature does.
func (s *site) seedArtifact(ctx context.Context) (string, error) {
	at, err := name.ParseReference(s.ours + "/" + ownArtifact)
	if err != nil {
		return "", err
	}
	artifact, err := text("application/vnd.lab.report", "a report")
	if err != nil {
		return "", err
	}
	if err := remote.Write(at, artifact, s.options(ctx)...); err != nil {
		return "", fmt.Errorf("push %s: %w", ownArtifact, err)
	}
	size, err := artifact.Size()
	if err != nil {
		return "", err
	}
	digest, err := artifact.Digest()
	if err != nil {
		return "", err
	}
	statement, err := text("application/vnd.lab.statement", "a statement about the report")
	if err != nil {
		return "", err
	}
	referrer, ok := mutate.Subject(statement, v1.Descriptor{MediaType: types.OCIManifestSchema1, Size: size, Digest: digest}).(v1.Image)
	if !ok {
		return "", fmt.Errorf("make a referrer of %s", ownArtifact)
	}
	if digest, err = referrer.Digest(); err != nil {
		return "", err
	}
	return digest.String(), remote.Write(at.Context().Digest(digest.String()), referrer, s.options(ctx)...)
}

// text is an artifact with one blob.
func text(kind types.MediaType, content string) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), kind)
	return mutate.AppendLayers(image, static.NewLayer([]byte(content), "text/plain"))
}

// complete reads everything that a reference needs, and returns its digest. Each read checks the
// digest of its content.
func (s *site) complete(ctx context.Context, ref string) (string, error) {
	at, err := name.ParseReference(ref)
	if err != nil {
		return "", err
	}
	top, err := remote.Get(at, s.options(ctx)...)
	if err != nil {
		return "", err
	}
	if top.MediaType.IsIndex() {
		index, err := top.ImageIndex()
		if err != nil {
			return "", err
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			return "", err
		}
		for _, m := range manifest.Manifests {
			if _, err := s.complete(ctx, at.Context().Digest(m.Digest.String()).String()); err != nil {
				return "", err
			}
		}
		return top.Digest.String(), nil
	}
	image, err := top.Image()
	if err != nil {
		return "", err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return "", err
	}
	for _, d := range append(manifest.Layers, manifest.Config) {
		if err := s.readBlob(ctx, at.Context().Digest(d.Digest.String())); err != nil {
			return "", fmt.Errorf("%s: %w", ref, err)
		}
	}
	return top.Digest.String(), nil
}

// sameLayers checks that two references have the same content, for all platforms or for some. The client may have changed
// the manifests and the compression.
func (s *site) sameLayers(ctx context.Context, from, to string, all bool) error {
	want, err := s.layersOf(ctx, from)
	if err != nil {
		return err
	}
	got, err := s.layersOf(ctx, to)
	if !all {
		maps.DeleteFunc(want, func(platform string, _ []v1.Hash) bool { return got[platform] == nil })
	}
	if err == nil && !maps.EqualFunc(got, want, slices.Equal[[]v1.Hash]) {
		err = fmt.Errorf("%s has %v, want %v", to, got, want)
	}
	return err
}

// layersOf returns the digests of the uncompressed layers of each platform.
func (s *site) layersOf(ctx context.Context, ref string) (map[string][]v1.Hash, error) {
	at, err := name.ParseReference(ref)
	if err != nil {
		return nil, err
	}
	top, err := remote.Get(at, s.options(ctx)...)
	if err != nil {
		return nil, err
	}
	var refs []name.Reference
	if top.MediaType.IsIndex() {
		index, err := top.ImageIndex()
		if err != nil {
			return nil, err
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			return nil, err
		}
		for _, m := range manifest.Manifests {
			refs = append(refs, at.Context().Digest(m.Digest.String()))
		}
	} else {
		refs = append(refs, at)
	}
	all := map[string][]v1.Hash{}
	for _, ref := range refs {
		image, err := remote.Image(ref, s.options(ctx)...)
		if err != nil {
			return nil, err
		}
		config, err := image.ConfigFile()
		if err != nil {
			return nil, err
		}
		all[config.Platform().String()] = config.RootFS.DiffIDs
	}
	return all, nil
}

func (s *site) readBlob(ctx context.Context, at name.Digest) error {
	layer, err := remote.Layer(at, s.options(ctx)...)
	if err != nil {
		return err
	}
	content, err := layer.Compressed()
	if err != nil {
		return err
	}
	defer content.Close()
	_, err = io.Copy(io.Discard, content)
	return err
}

// refers reports whether the registry lists the referrer of a manifest.
func (s *site) refers(ctx context.Context, ref, digest, referrer string) (bool, error) {
	at, err := name.ParseReference(ref)
	if err != nil {
		return false, err
	}
	index, err := remote.Referrers(at.Context().Digest(digest), s.options(ctx)...)
	if err != nil {
		return false, err
	}
	list, err := index.IndexManifest()
	if err != nil {
		return false, err
	}
	for _, m := range list.Manifests {
		if m.Digest.String() == referrer {
			return true, nil
		}
	}
	return false, nil
}

// tokenOf reads the answer of /token.
func tokenOf(resp *http.Response, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer struct{ Token string }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("read the token: %s: %w", resp.Status, err)
	}
	return answer.Token, nil
}
