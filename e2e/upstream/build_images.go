package upstream

import (
	"context"
	"fmt"
	"io"
	"os"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/oci"
	"airgap.dev/airgap/e2e/upstream/internal/stage"
)

// format is part of the key of every build result. Raise it when the packing changes, so
// that Build updates older caches.
const format = 2

// putImages builds the images with a changed declaration or changed files.
func (b *builder) putImages(ctx context.Context, dir string, images []oci.Image) error {
	dst, err := oci.Open(dir)
	if err != nil {
		return err
	}
	changed := false
	for _, i := range images {
		if err := ctx.Err(); err != nil {
			return err
		}
		key, err := b.imageKey(i)
		if err != nil {
			return err
		}
		ran, err := b.log.Do("image "+i.Ref, key, func() error { return i.Put(dst) })
		if err != nil {
			return err
		}
		changed = changed || ran
	}
	if !changed {
		return nil
	}
	return oci.Sweep(dst)
}

func (b *builder) imageKey(i oci.Image) (string, error) {
	parts := []any{format, i}
	for _, l := range i.Layers {
		stamp, err := stamps(l.Files)
		if err != nil {
			return "", err
		}
		parts = append(parts, stamp)
	}
	return stage.Key(parts...)
}

// stamps identifies the content of files by size and time, without reading them. That is
// sufficient for files that a build or a package manager wrote.
func stamps(files []archive.File) ([]string, error) {
	var stamps []string
	for _, f := range files {
		if f.Source == "" {
			continue
		}
		info, err := os.Stat(f.Source)
		if err != nil {
			return nil, err
		}
		stamps = append(stamps, fmt.Sprintf("%s %d %d", f.Source, info.Size(), info.ModTime().UnixNano()))
	}
	return stamps, nil
}

// LargeImage adds an image of at least size bytes and returns its name. Measurements use it
// to find costs that grow with a bundle. Its content is zeros that take no space in the
// cache.
func LargeImage(ctx context.Context, cache string, size int64, progress io.Writer) (string, error) {
	b, unlock, err := open(ctx, cache, progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	const layer = 1 << 30
	large := oci.Image{Ref: "nvcr.io/lab/large:1.0", Single: true}
	for seed := range byte((size + layer - 1) / layer) {
		large.Layers = append(large.Layers, oci.Layer{Holes: layer, Seed: seed})
	}
	return large.Ref, b.putImages(ctx, b.cache.largeImages(), []oci.Image{large})
}

// BenchImages adds the images for measurements and returns their twelve names. Eight are
// images of a Kubernetes cluster. Four are like images of a GPU stack and share layers of
// 500 MB that cannot be compressed. All together have 2.8 GB after deduplication.
func BenchImages(ctx context.Context, cache string, progress io.Writer) ([]string, error) {
	if err := Build(ctx, cache, progress); err != nil {
		return nil, err
	}
	b, unlock, err := open(ctx, cache, progress)
	if err != nil {
		return nil, err
	}
	defer unlock()
	all, err := b.images()
	if err != nil {
		return nil, err
	}
	gpu := b.gpuLike()
	if err := b.putImages(ctx, b.cache.benchImages(), gpu); err != nil {
		return nil, err
	}
	var refs []string
	for _, i := range append(all[:8:8], gpu...) {
		refs = append(refs, i.Ref)
	}
	return refs, nil
}

func (b *builder) gpuLike() []oci.Image {
	const size = 500 << 20
	image := func(name string, seeds ...byte) oci.Image {
		i := oci.Image{Ref: "nvcr.io/lab/" + name + ":1.0", Layers: []oci.Layer{base()}, Entrypoint: []string{"/opt/run"}}
		for _, s := range seeds {
			i.Layers = append(i.Layers, oci.Layer{Noise: size, Seed: s})
		}
		return i
	}
	return []oci.Image{image("driver", 1, 2), image("toolkit", 1, 3), image("device-plugin", 1, 2, 4), image("dcgm", 1, 3, 5)}
}
