package bundle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/image"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/reference"
)

// upstream sends the requests of a plan. Contents of earlier bundles need none.
type upstream struct {
	fetch.Strict

	earlier *Earlier
}

// resolved is an image with the documents that were read to resolve it.
type resolved struct {
	image   Image
	from    repositorySource
	small   map[string][]byte // manifests, by digest
	configs map[string][]byte // configurations, by digest
	remarks []string
	moved   *Moved // nil if the tag still points to the locked digest
}

// resolve returns the digest of an image, unless it is locked, and every blob that a
// server of the platform fetches.
func (up upstream) resolve(ctx context.Context, fullName string, platform ocispec.Platform, locked string) (*resolved, error) {
	ctx = httpclient.For(ctx, "image "+fullName)
	named, err := parseName(fullName)
	if err != nil {
		return nil, err
	}
	repo, err := up.Repository(named.Repository())
	if err != nil {
		return nil, err
	}
	ref := refIn(repo, named)
	if locked != "" {
		ref = repo.Digest(locked)
	}
	top, err := up.manifest(ctx, ref)
	if err != nil {
		return nil, err
	}
	moved, remark, err := up.movedOrGone(ctx, fullName, repo, named, locked)
	if err != nil {
		return nil, err
	}
	from := repositorySource{up, repo}
	found, err := image.Collect(ctx, from, top, platform)
	if err != nil {
		return nil, err
	}
	r := &resolved{image: Image{Name: fullName, Digest: top.Digest.String(), License: licenceOf(found.Configs)}, from: from, small: found.Manifests, configs: found.Configs, remarks: found.Remarks, moved: moved}
	if remark != "" {
		r.remarks = append(r.remarks, remark)
	}
	for _, b := range found.Blobs {
		r.image.Blobs = append(r.image.Blobs, Blob(b))
	}
	return r, nil
}

// origin returns the source of a blob.
func (r *resolved) origin(d string) origin {
	if config, known := r.configs[d]; known {
		return func(_ context.Context, part fetch.Extent) (io.ReadCloser, error) { return rest(config, part), nil }
	}
	return func(ctx context.Context, part fetch.Extent) (io.ReadCloser, error) {
		return r.from.open(ctx, digest.Digest(d), part)
	}
}

// repositorySource is an image in a repository of a registry.
type repositorySource struct {
	upstream upstream
	repo     name.Repository
}

// Document reads a manifest or an index by its digest.
func (s repositorySource) Document(ctx context.Context, d digest.Digest) (*image.Document, error) {
	return s.upstream.manifest(ctx, s.repo.Digest(d.String()))
}

// Blob opens a whole blob.
func (s repositorySource) Blob(ctx context.Context, d digest.Digest) (io.ReadCloser, error) {
	return s.open(ctx, d, fetch.All())
}

// open falls back to the manifest of this digest: containerd fetches a manifest as a blob if its
// entry has an unknown media type.
func (s repositorySource) open(ctx context.Context, d digest.Digest, part fetch.Extent) (io.ReadCloser, error) {
	ref := s.repo.Digest(d.String())
	body, err := s.upstream.OpenBlob(ctx, s.repo, d.String(), part)
	if err == nil {
		return body, nil
	}
	err = s.upstream.Explain(ctx, ref, err)
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	raw, other := s.upstream.Manifest(ctx, ref)
	if other != nil {
		return nil, err
	}
	return rest(raw, part), nil
}

// rest is the content from an offset on.
func rest(content []byte, part fetch.Extent) io.ReadCloser {
	return io.NopCloser(bytes.NewReader(content[min(part.Offset, int64(len(content))):]))
}

// refIn is the reference in the repository of the mirror; a digest has priority over a tag.
func refIn(repo name.Repository, named reference.Reference) name.Reference {
	if named.Digest != "" {
		return repo.Digest(named.Digest)
	}
	return repo.Tag(named.Tag)
}

// manifest reads a manifest or an index from a registry; see image.Parse.
func (up upstream) manifest(ctx context.Context, ref name.Reference) (*image.Document, error) {
	raw, err := up.Manifest(ctx, ref)
	if err != nil {
		return nil, err
	}
	return image.Parse(raw)
}
