// Package oci makes the lab's container images: an OCI layout on disk in which
// every image is annotated with the full name under which the world knows it.
// An image is a declaration; its digest depends on that and on the files' bytes
// alone. Most images are indexes of two platforms, of which only linux/amd64
// runs: the other is a stand-in that a client must be able to leave out.
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

// RefName is the annotation that holds an image's full name, HOST/REPO:TAG.
const RefName = "org.opencontainers.image.ref.name"

// Image declares one image.
type Image struct {
	Ref        string
	Layers     []Layer // bottom first
	Entrypoint []string
	Single     bool // a manifest of its own, not an index
}

// Layer is a set of files, or (for measurements) Noise bytes that no
// compression makes smaller, the same for the same Seed, or Holes bytes of
// zeros that are not compressed and take no space in the layout.
type Layer struct {
	Files []archive.File
	Noise int64
	Holes int64 `json:",omitempty"`
	Seed  byte
}

// Open returns the layout in dir, which is made when there is none.
func Open(dir string) (layout.Path, error) {
	if _, err := os.Stat(filepath.Join(dir, "index.json")); err == nil {
		return layout.FromPath(dir)
	}
	return layout.Write(dir, empty.Index)
}

// Put builds the image into the layout, in place of one of the same name.
func (i Image) Put(dst layout.Path) error {
	amd64, err := i.build(dst, platform("amd64"), i.Layers)
	if err != nil {
		return err
	}
	name := layout.WithAnnotations(map[string]string{RefName: i.Ref})
	if i.Single {
		return dst.ReplaceImage(amd64, match.Name(i.Ref), name)
	}
	arm64, err := i.build(dst, platform("arm64"), []Layer{standIn(i.Ref)})
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

func standIn(ref string) Layer {
	text := ref + " for a platform that the lab has no machine of\n"
	return Layer{Files: []archive.File{{Path: "etc/stand-in", Data: []byte(text), Mode: 0o644}}}
}
