package bundle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"airgap.dev/airgap/bundle/image"
)

// Annotations with the image name in a layout: skopeo and crane read OCI's annotation,
// containerd its own.
const (
	refNameAnnotation   = "org.opencontainers.image.ref.name"
	imageNameAnnotation = "io.containerd.image.name"

	// indexAnnotation is airgap's annotation for the digest of the upstream index of
	// several platforms. This index is a blob of the layout.
	indexAnnotation = "dev.airgap.index"
)

// contents lists every file of the bundle, sorted by path and without offsets, and
// returns the contents of the generated files.
func (p *Plan) contents() ([]Entry, map[string][]byte, error) {
	if p.rpms != nil && p.rpmKey == nil {
		return nil, nil, errors.New("the package repository is not signed")
	}
	small := maps.Clone(p.small)
	index, err := layoutIndex(p.Lock.Images)
	if err != nil {
		return nil, nil, err
	}
	small["oci/oci-layout"] = []byte(`{"imageLayoutVersion":"1.0.0"}`)
	small["oci/index.json"] = index

	files := p.Lock.entries()
	for _, f := range p.Base.files() {
		delete(files, f.Path)
	}
	for path, content := range small {
		files[path] = Entry{Path: path, Size: int64(len(content)), SHA256: sha256Hex(content)}
	}
	sorted := slices.SortedFunc(maps.Values(files), func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return sorted, small, nil
}

// entries are the files of the lock, by path and without offsets.
func (l Lock) entries() map[string]Entry {
	files := map[string]Entry{}
	for _, image := range l.Images {
		for _, b := range image.Blobs {
			path := BlobPath(b.Digest)
			files[path] = Entry{Path: path, Size: b.Size, SHA256: strings.TrimPrefix(b.Digest, "sha256:")}
		}
	}
	for _, r := range l.Packages {
		files[r.Path] = Entry{Path: r.Path, Size: r.Size, SHA256: r.SHA256}
	}
	for _, f := range l.Files {
		files[f.Path] = Entry{Path: f.Path, Size: f.Size, SHA256: f.SHA256}
	}
	return files
}

// layoutIndex is oci/index.json: for each image reference the manifest of the platform.
// The upstream index of all platforms is not listed as a manifest, because the bundle
// does not have most of its images, and crane push and skopeo copy --all would try to
// copy them.
func layoutIndex(images []Image) ([]byte, error) {
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{}}
	for _, image := range images {
		held := image.Manifest()
		digest, err := v1.NewHash(held.Digest)
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", image.Name, err)
		}
		annotations := map[string]string{refNameAnnotation: image.Name, imageNameAnnotation: image.Name}
		if held.Digest != image.Digest {
			annotations[indexAnnotation] = image.Digest
		}
		index.Manifests = append(index.Manifests, v1.Descriptor{
			MediaType: types.MediaType(held.MediaType), Digest: digest, Size: held.Size, Annotations: annotations,
		})
	}
	return json.Marshal(index)
}

// Manifest is the manifest that containerd runs: the image itself, or the first blob
// after its index.
func (i Image) Manifest() Blob {
	for _, b := range i.Blobs {
		if image.IsManifest(b.MediaType) {
			return b
		}
	}
	return i.Blobs[0]
}

// describe is the display name of a path of the bundle.
func (p *Plan) describe(path string) string {
	for _, image := range p.Lock.Images {
		for _, b := range image.Blobs {
			if BlobPath(b.Digest) == path {
				return fmt.Sprintf("%s of image %s", b.Digest, image.Name)
			}
		}
	}
	for _, r := range p.Lock.Packages {
		if r.Path == path {
			return "package " + r.NEVRA.String()
		}
	}
	return path
}
