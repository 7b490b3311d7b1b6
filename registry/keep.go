package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
)

// KeepPushed copies to what was pushed, in the directory pushed, the blobs that pushed images
// rest on and that of all bundles only the one that goes has: a push leaves out what is there.
// The error is about images that could not be kept; the others are.
func KeepPushed(ctx context.Context, pushed string, goes *bundle.Bundle, stay []*bundle.Bundle) error {
	blobs, problems := pushedBlobs(ctx, pushed, append(slices.Clone(stay), goes))
	if len(blobs) == 0 {
		return problems
	}
	left, err := catalogOf(stay)
	if err != nil {
		return err
	}
	all, err := catalogOf(append(slices.Clone(stay), goes))
	if err != nil {
		return err
	}
	own, err := host.OpenOwned(pushed)
	if err != nil {
		return errors.Join(problems, err)
	}
	defer own.Close()
	for image, digests := range blobs {
		for _, d := range digests {
			from, held := all.blobs[d]
			if _, stays := left.blobs[d]; stays || !held {
				continue
			}
			if err := keepBlob(ctx, own, d, from.open); err != nil {
				problems = errors.Join(problems, fmt.Errorf("keep what the pushed image %s rests on: %w", image, err))
			}
		}
	}
	return problems
}

func catalogOf(bundles []*bundle.Bundle) (*catalog, error) {
	view := bundle.NewView(bundle.NewestFirst(bundles)...)
	return newCatalog(view.Bundles(), view.FS())
}

// keepBlob writes a blob, unless it is there, as the registry's user would have: the
// directory is that user's.
func keepBlob(ctx context.Context, pushed *host.Owned, d digest.Digest, open opener) error {
	name := local(dataPath(d))
	there, err := pushed.Open(name)
	if err == nil {
		return there.Close()
	}
	if host.IgnoreMissing(err) != nil {
		return err
	}
	content, err := open()
	if err != nil {
		return err
	}
	defer content.Close()
	verifier := d.Verifier()
	return pushed.Write(name, 0o640, func(w io.Writer) error {
		if _, err := io.Copy(io.MultiWriter(w, verifier), content); err != nil {
			return err
		}
		if !verifier.Verified() {
			return fmt.Errorf("blob %s is damaged in its bundle", d)
		}
		return ctx.Err()
	})
}
