package registry

import (
	"context"
	"fmt"

	"github.com/distribution/distribution/v3"
	"github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
)

// openedRepository is a repository as the engine's own handlers see it.
type openedRepository struct {
	name      string
	manifests distribution.ManifestService
	blobs     distribution.BlobStore
	tags      distribution.TagService
}

// openRepository makes an empty one where there is none of this name.
func openRepository(ctx context.Context, n distribution.Namespace, name string) (*openedRepository, error) {
	named, err := reference.WithName(name)
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

// blobsBelow are the manifest itself and everything that it needs.
func (r *openedRepository) blobsBelow(ctx context.Context, d digest.Digest) ([]digest.Digest, error) {
	m, err := r.manifests.Get(ctx, d)
	if err != nil {
		return nil, err
	}
	all := []digest.Digest{d}
	for _, needed := range m.References() {
		if !isManifest(needed.MediaType) {
			all = append(all, needed.Digest)
			continue
		}
		below, err := r.blobsBelow(ctx, needed.Digest)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}

func isManifest(mediaType string) bool {
	t := types.MediaType(mediaType)
	return t.IsImage() || t.IsIndex()
}
