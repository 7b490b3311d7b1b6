package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
)

// Use is what the images of a store are used for.
type Use struct {
	Pushed  map[string][]digest.Digest // by NAME:TAG or NAME@DIGEST: every manifest and layer, as PushedBlobs gives it
	Running map[string][]digest.Digest // by pod: the images that it runs, by the digests that runtimes tell
}

// Need is why a bundle has to stay in the store.
type Need struct {
	By   string   `json:"by"`   // "tags", "pushed images", "pods", "deltas"
	What []string `json:"what"` // sorted: names of those that would lose something
}

// Needs says what would lose something without each of the bundles, in their order.
// A bundle without needs may go: the others hold all that is asked for.
func Needs(bundles []*bundle.Bundle, use Use) [][]Need {
	all := make([][]Need, len(bundles))
	images := namedImages(bundles)
	for i, b := range bundles {
		others := slices.Concat(bundles[:i], bundles[i+1:])
		lost := onlyIn(b, others)
		loses := func(blobs []digest.Digest) bool {
			return slices.ContainsFunc(blobs, func(d digest.Digest) bool { return lost[d] })
		}
		var tags, pushed, pods []string
		for name, blobs := range images {
			if loses(blobs) {
				tags = append(tags, name)
			}
		}
		for name, blobs := range use.Pushed {
			if loses(blobs) {
				pushed = append(pushed, name)
			}
		}
		for pod, running := range use.Running {
			if slices.ContainsFunc(running, func(d digest.Digest) bool { return loses(blobsOf(d, bundles)) }) {
				pods = append(pods, pod)
			}
		}
		for _, n := range []Need{{"tags", tags}, {"pushed images", pushed}, {"pods", pods}, {"deltas", deltas(bundles, others)}} {
			if len(n.What) > 0 {
				slices.Sort(n.What)
				all[i] = append(all[i], n)
			}
		}
	}
	return all
}

// namedImages are the blobs of what each name means: that of the newest bundle that
// has it.
func namedImages(bundles []*bundle.Bundle) map[string][]digest.Digest {
	named := map[string][]digest.Digest{}
	for _, b := range bundle.NewestFirst(bundles) {
		for _, image := range b.Index().Lock.Images {
			if _, taken := named[image.Name]; !taken {
				named[image.Name] = digests(image)
			}
		}
	}
	return named
}

func digests(image bundle.Image) []digest.Digest {
	all := make([]digest.Digest, len(image.Blobs))
	for i, b := range image.Blobs {
		all[i] = digest.Digest(b.Digest)
	}
	return all
}

// blobsOf are those of every image that has this manifest.
func blobsOf(d digest.Digest, bundles []*bundle.Bundle) []digest.Digest {
	var blobs []digest.Digest
	for _, b := range bundles {
		for _, image := range b.Index().Lock.Images {
			if all := digests(image); slices.Contains(all, d) {
				blobs = append(blobs, all...)
			}
		}
	}
	return blobs
}

// onlyIn are the blobs of a bundle that the others do not hold.
func onlyIn(b *bundle.Bundle, others []*bundle.Bundle) map[digest.Digest]bool {
	only := map[digest.Digest]bool{}
	for d := range held(b) {
		only[d] = true
	}
	for _, o := range others {
		for d := range held(o) {
			delete(only, d)
		}
	}
	return only
}

func held(b *bundle.Bundle) map[digest.Digest]bool {
	all := map[digest.Digest]bool{}
	for _, f := range b.Index().Files {
		if hex, ok := strings.CutPrefix(f.Path, blobDirectory); ok {
			all[digest.NewDigestFromEncoded(digest.SHA256, hex)] = true
		}
	}
	return all
}

// deltas are those that find with all bundles what they leave out, but not with
// the others alone.
func deltas(all, others []*bundle.Bundle) []string {
	var names []string
	for _, d := range others {
		if _, err := d.Rest(others); err == nil {
			continue
		}
		if _, err := d.Rest(all); err == nil {
			names = append(names, d.Index().Name)
		}
	}
	return names
}

// PushedBlobs are all blobs of each pushed image that the bundles may hold.
func PushedBlobs(ctx context.Context, pushed string, bundles []*bundle.Bundle) (map[string][]digest.Digest, error) {
	blobs, err := pushedBlobs(ctx, pushed, bundles)
	if err != nil {
		return nil, err
	}
	return blobs, nil
}

// pushedBlobs has an error for images that cannot be read, beside the blobs of the others.
func pushedBlobs(ctx context.Context, pushed string, bundles []*bundle.Bundle) (map[string][]digest.Digest, error) {
	if _, err := os.Stat(pushed); err != nil {
		return nil, host.IgnoreMissing(err)
	}
	view := bundle.NewView(bundle.NewestFirst(bundles)...)
	c, err := newCatalog(view.Bundles(), view.FS())
	if err != nil {
		return nil, err
	}
	s, err := newStorage(c, pushed, nil) // what is hidden by a former bundle's name alone may keep a blob
	if err != nil {
		return nil, err
	}
	defer s.files.Close()
	n, err := s.namespace(ctx)
	if err != nil {
		return nil, err
	}
	blobs, problems := map[string][]digest.Digest{}, error(nil)
	records, _, err := linked(s, func(path string, err error) {
		problems = errors.Join(problems, fmt.Errorf("read pushed images: %s: %w", s.file(engineRoot+"/repositories/"+path), err))
	})
	if err != nil {
		return nil, fmt.Errorf("read pushed images: %w", err)
	}
	for at, record := range records.all() {
		r, err := openRepository(ctx, n, at.Repository)
		if err != nil {
			return nil, err
		}
		below, err := r.blobsBelow(ctx, record.Digest)
		if err != nil {
			problems = errors.Join(problems, fmt.Errorf("read pushed image %s: %w", at, err))
			continue
		}
		blobs[at.String()] = below
	}
	return blobs, problems
}

// removing is before the name of a bundle that is being removed.
const removing = ".removing-"

// Remove takes a bundle out of the store, which remembers the names of its images. When
// it was interrupted, Sweep finishes it.
func (s Store) Remove(b *bundle.Bundle) error {
	dir, err := s.place(b)
	if err != nil {
		return err
	}
	if err := s.remember(b); err != nil {
		return fmt.Errorf("remove bundle: %w", err)
	}
	gone := filepath.Join(s.Dir, removing+filepath.Base(dir))
	if err := os.Rename(dir, gone); err != nil {
		return fmt.Errorf("remove bundle: %w", err)
	}
	if err := host.SyncDir(s.Dir); err != nil {
		return fmt.Errorf("remove bundle: %w", err)
	}
	return errors.Join(host.IgnoreMissing(os.Remove(linkNote(dir))), host.RemoveTree(gone))
}

// Sweep deletes what an interrupted Remove has left.
func (s Store) Sweep() error {
	left, err := filepath.Glob(filepath.Join(s.Dir, removing+"*"))
	for _, dir := range left {
		err = errors.Join(err, host.RemoveTree(dir))
	}
	return err
}
