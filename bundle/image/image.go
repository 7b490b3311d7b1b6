// Package image lists the blobs that containerd fetches for an image: its index, the manifests below it for the platform, their configurations and layers.
//
// The answers of a registry come from a Source. The package refuses everything that containerd
// or the registry of a server would refuse, and gives the reason.
package image

import (
	"context"
	"fmt"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	// maxConfig is the largest configuration of an image in bytes. It is the limit of CRI-O
	// (MaxConfigBodySize in containers/image's iolimits). containerd has no limit.
	maxConfig = 4 << 20
	// maxReferences limits the descriptors of one image, as maxReferences in containerd's
	// core/images does.
	maxReferences = 10_000
	// maxNesting limits the depth of nested indexes. containerd has no such limit.
	maxNesting = 16
	// maxDocuments limits the manifests, indexes and configurations of one image that a
	// plan keeps in memory, in bytes.
	maxDocuments = 64 << 20
	// MaxBlob is the largest blob in bytes. Each blob is a file of a bundle.
	MaxBlob = 1 << 40
)

// Blob is a part of an image: an index, a manifest, a configuration or a layer.
type Blob struct {
	Digest    string
	Size      int64
	MediaType string
}

// Image is an image in a bundle.
type Image struct {
	// Blobs are in the order of a lock: the top, the manifest that containerd runs, then
	// all others, children before parents.
	Blobs     []Blob
	Manifests map[string][]byte // manifests and indexes, by digest
	Configs   map[string][]byte // by digest
	Remarks   []string
}

// Collect reads everything that a server of the platform fetches below top.
func Collect(ctx context.Context, from Source, top *Document, platform ocispec.Platform) (*Image, error) {
	t := newTree(from, platform)
	chosen, err := t.grow(ctx, top)
	if err != nil {
		return nil, err
	}
	i := &Image{Blobs: t.list(top, chosen), Manifests: map[string][]byte{}, Configs: map[string][]byte{}, Remarks: t.remarks}
	for d, doc := range t.documents {
		i.Manifests[d.String()] = doc.Raw
	}
	for d, config := range t.configs {
		i.Configs[d.String()] = config.raw
	}
	return i, nil
}

// shorten limits the length of a list in a message.
func shorten(all []string) []string {
	const most = 12
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > most {
		return append(all[:most:most], fmt.Sprintf("and %d more", len(all)-most))
	}
	return all
}
