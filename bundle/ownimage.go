package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"airgap.dev/airgap/bundle/fetch"
)

// OwnImage is an image that the connected host creates: it is not fetched, and no lock
// contains it.
type OwnImage struct {
	Need
	// Make returns an image of one platform. Its layers can be opened any number of times.
	Make func() (v1.Image, error)
}

// planOwn adds own images to the lock.
func (p *Plan) planOwn(own []OwnImage) error {
	var errs []error
	for _, o := range own {
		image, err := p.addOwn(o)
		if err != nil {
			errs = append(errs, fmt.Errorf("image %s: %w", o.Reference, err))
			continue
		}
		p.Lock.Images = append(p.Lock.Images, image)
	}
	slices.SortFunc(p.Lock.Images, func(a, b Image) int { return cmp.Compare(a.Name, b.Name) })
	return errors.Join(errs...)
}

func (p *Plan) addOwn(o OwnImage) (Image, error) {
	name, err := FullName(o.Reference)
	if err != nil {
		return Image{}, err
	}
	if slices.ContainsFunc(p.Lock.Images, func(i Image) bool { return i.Name == name }) {
		return Image{}, errors.New("airgap adds this image automatically: remove it from airgap.yaml")
	}
	made, err := o.Make()
	if err != nil {
		return Image{}, err
	}
	image := Image{Name: name, NeededBy: []string{o.NeededBy}}
	raw, errRaw := made.RawManifest()
	config, errConfig := made.RawConfigFile()
	manifest, errManifest := made.Manifest()
	if err := errors.Join(errRaw, errConfig, errManifest); err != nil {
		return Image{}, err
	}
	image.Digest = "sha256:" + sha256Hex(raw)
	image.Blobs = []Blob{
		{Digest: image.Digest, Size: int64(len(raw)), MediaType: string(manifest.MediaType)},
		{Digest: manifest.Config.Digest.String(), Size: manifest.Config.Size, MediaType: string(manifest.Config.MediaType)},
	}
	p.small[BlobPath(image.Digest)], p.small[BlobPath(image.Blobs[1].Digest)] = raw, config
	for _, layer := range manifest.Layers {
		image.Blobs = append(image.Blobs, Blob{Digest: layer.Digest.String(), Size: layer.Size, MediaType: string(layer.MediaType)})
		p.origins[BlobPath(layer.Digest.String())] = func(_ context.Context, part fetch.Extent) (io.ReadCloser, error) {
			opened, err := made.LayerByDigest(layer.Digest)
			if err != nil {
				return nil, err
			}
			body, err := opened.Compressed()
			if err == nil {
				_, err = io.CopyN(io.Discard, body, part.Offset)
			}
			return body, err
		}
	}
	return image, nil
}
