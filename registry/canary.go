package registry

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/registry/names"
)

// canary contains the blobs of names.Canary, a few hundred bytes.
type canary struct {
	manifest, config, layer []byte
}

func newCanary() (canary, error) {
	c, err := makeCanary()
	if err != nil {
		return c, fmt.Errorf("build image %s: %w", names.Canary, err)
	}
	return c, nil
}

func makeCanary() (c canary, err error) {
	const text = "This image comes from the cluster's registries.\n"
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	if err := archive.WriteHeader(&tar.Header{Name: "canary", Mode: 0o444, Size: int64(len(text))}); err != nil {
		return c, err
	}
	if _, err := archive.Write([]byte(text)); err != nil {
		return c, err
	}
	if err := archive.Close(); err != nil {
		return c, err
	}
	file, err := empty.Image.ConfigFile()
	if err != nil {
		return c, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", "amd64"
	image, err := mutate.ConfigFile(empty.Image, file)
	if err != nil {
		return c, err
	}
	image = mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), types.OCIConfigJSON)
	packed, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return c, err
	}
	if image, err = mutate.AppendLayers(image, packed); err != nil {
		return c, err
	}
	content, err := packed.Compressed()
	if err == nil {
		c.layer, err = io.ReadAll(content)
	}
	if err != nil {
		return c, err
	}
	if c.config, err = image.RawConfigFile(); err != nil {
		return c, err
	}
	c.manifest, err = image.RawManifest()
	return c, err
}

// addCanary adds the image to the catalog.
func (c *catalog) addCanary() error {
	image, err := newCanary()
	if err != nil {
		return err
	}
	name, tag, err := names.Parse(names.Canary)
	if err != nil {
		return err
	}
	r := c.repository(name)
	add := func(content []byte) digest.Digest {
		d := digest.FromBytes(content)
		c.blobs[d] = blob{content: content, size: int64(len(content))}
		return d
	}
	r.tags[tag] = add(image.manifest)
	r.manifests[r.tags[tag]] = true
	r.layers[add(image.config)], r.layers[add(image.layer)] = true, true
	return nil
}
