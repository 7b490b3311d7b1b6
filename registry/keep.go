package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

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
	for image, digests := range blobs {
		for _, d := range digests {
			file := filepath.Join(pushed, filepath.FromSlash(dataPath(d)))
			_, missing := os.Stat(file)
			from, held := all.blobs[d]
			if _, stays := left.blobs[d]; stays || !held || missing == nil {
				continue
			}
			if err := keepBlob(ctx, pushed, file, d, from.open); err != nil {
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

// keepBlob writes a blob as the registry's user would have: the directory of the pushes is
// that user's.
func keepBlob(ctx context.Context, pushed, file string, d digest.Digest, open opener) error {
	info, err := os.Stat(pushed)
	if err != nil {
		return err
	}
	uid, gid := -1, -1
	if owner, is := info.Sys().(*syscall.Stat_t); is {
		uid, gid = int(owner.Uid), int(owner.Gid)
	}
	var missing []string
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || len(dir) <= len(pushed) {
			break
		}
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := os.Chown(dir, uid, gid); err != nil {
			return err
		}
	}
	content, err := open()
	if err != nil {
		return err
	}
	defer content.Close()
	verifier := d.Verifier()
	err = host.Write(file, 0o644, func(w io.Writer) error {
		if _, err := io.Copy(io.MultiWriter(w, verifier), content); err != nil {
			return err
		}
		if !verifier.Verified() {
			return fmt.Errorf("blob %s is damaged in its bundle", d)
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return os.Chown(file, uid, gid)
}
