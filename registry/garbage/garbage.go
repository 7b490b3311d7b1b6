// Package garbage removes content of pushed images that no image needs. It knows the layout of a distribution registry.
package garbage

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// Result is the content that no image needs.
type Result struct {
	Blobs   int   `json:"blobs"`   // of deleted images, of replaced tags, and of pushes without a manifest
	Uploads int   `json:"uploads"` // unfinished
	Bytes   int64 `json:"bytes"`   // of both
	Removed bool  `json:"removed"` // false after a dry run
}

// Write writes the result in one line.
func (r *Result) Write(w io.Writer) error {
	does := "would remove"
	if r.Removed {
		does = "removed"
	}
	_, err := fmt.Fprintf(w, "%s %s that no image needs, and %s: %s\n",
		does, ui.Count(r.Blobs, "blob"), ui.Count(r.Uploads, "unfinished upload"), ui.Size(r.Bytes))
	return err
}

// Collect removes all blobs below root, a path in own, that are not needed, the links to them, and all unfinished
// uploads. With an error, the result has the removed content. With dryRun, Collect only counts.
func Collect(ctx context.Context, own *host.Owned, root string, needed map[digest.Digest]bool, dryRun bool) (*Result, error) {
	c := collector{Result: &Result{Removed: !dryRun}, own: own, root: root, needed: needed, lost: map[digest.Digest]bool{}}
	if err := c.collect(ctx); err != nil {
		return c.Result, fmt.Errorf("collect garbage: %w", err)
	}
	return c.Result, nil
}

// collector removes files below the root of the engine's files.
type collector struct {
	*Result

	own    *host.Owned
	root   string
	needed map[digest.Digest]bool
	lost   map[digest.Digest]bool // removed blobs
}

func (c collector) collect(ctx context.Context) error {
	if err := c.blobs(ctx); err != nil {
		return err
	}
	root := path.Join(c.root, "repositories")
	return host.IgnoreMissing(fs.WalkDir(c.own.FS(), root, func(dir string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || !e.IsDir():
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case e.Name() == "_layers":
			return skipAfter(c.links(dir))
		case e.Name() == "_uploads":
			return skipAfter(c.uploads(ctx, dir))
		case strings.HasPrefix(e.Name(), "_"):
			return fs.SkipDir
		}
		return nil
	}))
}

func skipAfter(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

func (c collector) blobs(ctx context.Context) error {
	root := path.Join(c.root, "blobs/sha256")
	prefixes, err := fs.ReadDir(c.own.FS(), root)
	if err != nil {
		return host.IgnoreMissing(err)
	}
	for _, prefix := range prefixes {
		dirs, err := fs.ReadDir(c.own.FS(), path.Join(root, prefix.Name()))
		if err != nil {
			return err
		}
		for _, dir := range dirs {
			d := digest.NewDigestFromEncoded(digest.SHA256, dir.Name())
			if c.needed[d] || d.Validate() != nil {
				continue
			}
			if err := c.remove(ctx, path.Join(root, prefix.Name(), dir.Name())); err != nil {
				return err
			}
			c.Blobs++
			c.lost[d] = true
		}
	}
	return nil
}

// links removes the links of a repository to removed blobs.
func (c collector) links(dir string) error {
	all, err := fs.ReadDir(c.own.FS(), path.Join(dir, "sha256"))
	for _, e := range all {
		if c.lost[digest.NewDigestFromEncoded(digest.SHA256, e.Name())] && c.Removed {
			if err := c.own.Delete(path.Join(dir, "sha256", e.Name())); err != nil {
				return err
			}
		}
	}
	return host.IgnoreMissing(err)
}

func (c collector) uploads(ctx context.Context, dir string) error {
	all, err := fs.ReadDir(c.own.FS(), dir)
	for _, e := range all {
		c.Uploads++
		if err := c.remove(ctx, path.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return err
}

// remove removes a directory and counts its bytes.
func (c collector) remove(ctx context.Context, dir string) error {
	err := fs.WalkDir(c.own.FS(), dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			c.Bytes += info.Size()
		}
		return err
	})
	if err == nil {
		err = ctx.Err()
	}
	if err == nil && c.Removed {
		err = c.own.Delete(dir)
	}
	return err
}
