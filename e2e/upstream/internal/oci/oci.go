// Package oci makes the lab's container images: an OCI layout on disk in which every image
// is annotated with its full public name. The digest of an image depends only on its
// declaration and the bytes of its files. Most images are indexes of two platforms. Only
// linux/amd64 runs. The other platform is a stub that a client must be able to leave out.
package oci

import (
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
)

// RefName is the annotation with the full name of an image, HOST/REPO:TAG.
const RefName = "org.opencontainers.image.ref.name"

// Image declares one image.
type Image struct {
	Ref        string
	Layers     []Layer // bottom first
	Entrypoint []string
	Single     bool // a manifest without an index
}

// Layer is a set of files. For measurements it is instead Noise bytes that cannot be
// compressed, the same for the same Seed, or Holes bytes of zeros that are stored without
// compression and take no space in the layout.
type Layer struct {
	Files []archive.File
	Noise int64
	Holes int64 `json:",omitempty"`
	Seed  byte
}

// Open returns the layout in dir, and creates it if it does not exist.
func Open(dir string) (layout.Path, error) {
	if _, err := os.Stat(filepath.Join(dir, "index.json")); err == nil {
		return layout.FromPath(dir)
	}
	return layout.Write(dir, empty.Index)
}

// Put builds the image and writes it into the layout. It replaces an image of the same name.
func (i Image) Put(dst layout.Path) error {
	amd64, err := i.build(dst, platform("amd64"), i.Layers)
	if err != nil {
		return err
	}
	name := layout.WithAnnotations(map[string]string{RefName: i.Ref})
	if i.Single {
		return dst.ReplaceImage(amd64, match.Name(i.Ref), name)
	}
	arm64, err := i.build(dst, platform("arm64"), []Layer{stub(i.Ref)})
	if err != nil {
		return err
	}
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex),
		mutate.IndexAddendum{Add: amd64, Descriptor: v1.Descriptor{Platform: platform("amd64")}},
		mutate.IndexAddendum{Add: arm64, Descriptor: v1.Descriptor{Platform: platform("arm64")}})
	return dst.ReplaceIndex(index, match.Name(i.Ref), name)
}

func (i Image) build(dst layout.Path, p *v1.Platform, layers []Layer) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, l := range layers {
		layer, err := l.store(dst)
		if err != nil {
			return nil, err
		}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer}); err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = p.OS, p.Architecture
	config.Created = v1.Time{Time: archive.Epoch()}
	config.Config.Entrypoint = i.Entrypoint
	config.Config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	return mutate.ConfigFile(image, config)
}

func platform(arch string) *v1.Platform { return &v1.Platform{OS: "linux", Architecture: arch} }

func stub(ref string) Layer {
	text := ref + " for a platform that the lab has no machine of\n"
	return Layer{Files: []archive.File{{Path: "etc/stand-in", Data: []byte(text), Mode: 0o644}}}
}
