package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/distribution/distribution/v3"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/internal/reference"
)

// openedRepository gives access to a repository, as the engine's handlers have it.
type openedRepository struct {
	name      string
	manifests distribution.ManifestService
	blobs     distribution.BlobStore
	tags      distribution.TagService
}

// openRepository opens a repository. If it does not exist, it is empty.
func openRepository(ctx context.Context, n distribution.Namespace, name string) (*openedRepository, error) {
	named, err := reference.Named(name)
	if err != nil {
		return nil, fmt.Errorf("open repository %q: %w", name, err)
	}
	r, err := n.Repository(ctx, named)
	if err != nil {
		return nil, fmt.Errorf("open repository %s: %w", name, err)
	}
	manifests, err := r.Manifests(ctx)
	if err != nil {
		return nil, fmt.Errorf("open repository %s: %w", name, err)
	}
	return &openedRepository{name, manifests, r.Blobs(ctx), r.Tags(ctx)}, nil
}

// set lets a tag point to an existing manifest. If d is "", it deletes the tag or manifest. It is no
// error if nothing has to change.
func (r *openedRepository) set(ctx context.Context, to string, d digest.Digest) error {
	_, notDigest := digest.Parse(to)
	switch {
	case d != "" && notDigest == nil:
		return nil
	case d != "":
		return r.tags.Tag(ctx, to, v1.Descriptor{Digest: d})
	case notDigest == nil:
		if err := r.manifests.Delete(ctx, digest.Digest(to)); !errors.Is(err, distribution.ErrBlobUnknown) {
			return err
		}
		return nil
	}
	if err := r.tags.Untag(ctx, to); !missing(err) {
		return err
	}
	return nil
}

// blobsBelow returns the manifest and all blobs that it needs, each once. Without this, the work would
// double with each level of indexes that list each other twice. An index may lack manifests.
func (r *openedRepository) blobsBelow(ctx context.Context, d digest.Digest) ([]digest.Digest, error) {
	var all []digest.Digest
	seen := map[digest.Digest]bool{}
	add := func(d digest.Digest) {
		if !seen[d] {
			seen[d] = true
			all = append(all, d)
		}
	}
	tried := map[digest.Digest]bool{}
	for manifests := []digest.Digest{d}; len(manifests) > 0; manifests = manifests[1:] {
		if tried[manifests[0]] {
			continue
		}
		tried[manifests[0]] = true
		m, err := r.manifests.Get(ctx, manifests[0])
		if manifests[0] != d && unknownManifest(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		add(manifests[0])
		for _, needed := range m.References() {
			if isManifest(needed.MediaType) {
				manifests = append(manifests, needed.Digest)
			} else {
				add(needed.Digest)
			}
		}
	}
	return all, nil
}

// unknownManifest reports whether the repository does not have a manifest.
func unknownManifest(err error) bool {
	var unknown distribution.ErrManifestUnknownRevision
	return errors.As(err, &unknown)
}

func isManifest(mediaType string) bool {
	t := types.MediaType(mediaType)
	return t.IsImage() || t.IsIndex()
}
