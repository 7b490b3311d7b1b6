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
	"airgap.dev/airgap/registry/files"
	"airgap.dev/airgap/registry/verified"
)

// KeepPushed copies blobs of pushed images from the bundle removed to the directory pushed, if no
// remaining bundle contains them. A push does not store blobs that a bundle contains. The error
// names images with blobs that could not be copied; all others are copied.
func KeepPushed(ctx context.Context, pushed string, removed *bundle.Bundle, remaining []*bundle.Bundle) error {
	blobs, _, problems := pushedBlobs(ctx, pushed, append(slices.Clone(remaining), removed))
	if len(blobs) == 0 {
		return problems
	}
	remainingCatalog, err := catalogOf(remaining)
	if err != nil {
		return err
	}
	all, err := catalogOf(append(slices.Clone(remaining), removed))
	if err != nil {
		return err
	}
	own, err := host.OpenOwned(pushed)
	if err != nil {
		return errors.Join(problems, err)
	}
	defer own.Close()
	existing := verified.New(own)
	for image, digests := range blobs {
		for _, d := range digests {
			blob, held := all.blobs[d]
			if _, stays := remainingCatalog.blobs[d]; stays || !held {
				continue
			}
			if err := keepBlob(ctx, own, existing, d, blob.open); err != nil {
				problems = errors.Join(problems, fmt.Errorf("keep the blobs of pushed image %s: %w", image, err))
			}
		}
	}
	return problems
}

func catalogOf(bundles []*bundle.Bundle) (*catalog, error) {
	view := bundle.NewView(bundle.NewestFirst(bundles)...)
	return newCatalog(view.Bundles(), view.FS())
}

// keepBlob writes a blob if it does not exist or is damaged, with the owner of the directory: the registry's user.
func keepBlob(ctx context.Context, pushed *host.Owned, existing *verified.Blobs, d digest.Digest, open opener) error {
	name := files.Local(dataPath(d))
	err := existing.Check(name, d)
	if err == nil || host.IgnoreMissing(err) != nil && !verified.Unusable(err) {
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
