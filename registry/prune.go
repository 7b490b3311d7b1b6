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

// Use lists the users of the images of a store.
type Use struct {
	Pushed  map[string][]digest.Digest // by NAME:TAG or NAME@DIGEST: every manifest and layer, from PushedBlobs
	Running map[string][]digest.Digest // by pod: the digests of its running images, as the runtime reports them
}

// Need is a reason why a bundle must stay in the store.
type Need struct {
	By   string   `json:"by"`   // kind of user: "tags", "pushed images", "pods", "deltas"
	What []string `json:"what"` // sorted names of the users that would lose content
}

// Needs returns for each bundle, in their order, the users that would lose content without it. A
// bundle without needs can be removed: the other bundles have all content in use.
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
		for _, n := range []Need{{"tags", tags}, {"pushed images", pushed}, {"pods", pods}, {"deltas", dependentDeltas(bundles, others)}} {
			if len(n.What) > 0 {
				slices.Sort(n.What)
				all[i] = append(all[i], n)
			}
		}
	}
	return all
}

// namedImages returns the blobs of each image by name. If several bundles have the name, the newest
// one counts.
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

// blobsOf returns the blobs of each image with this manifest.
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

// onlyIn returns the blobs of a bundle that no other bundle contains.
func onlyIn(b *bundle.Bundle, others []*bundle.Bundle) map[digest.Digest]bool {
	only := map[digest.Digest]bool{}
	for d := range blobSet(b) {
		only[d] = true
	}
	for _, o := range others {
		for d := range blobSet(o) {
			delete(only, d)
		}
	}
	return only
}

func blobSet(b *bundle.Bundle) map[digest.Digest]bool {
	all := map[digest.Digest]bool{}
	for _, f := range b.Index().Files {
		if hex, ok := strings.CutPrefix(f.Path, blobDirectory); ok {
			all[digest.NewDigestFromEncoded(digest.SHA256, hex)] = true
		}
	}
	return all
}

// dependentDeltas returns the names of the deltas that find their base content in all bundles, but not
// in the others alone.
func dependentDeltas(all, others []*bundle.Bundle) []string {
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

// PushedBlobs returns all blobs of each pushed image. The bundles may contain some of them.
func PushedBlobs(ctx context.Context, pushed string, bundles []*bundle.Bundle) (map[string][]digest.Digest, error) {
	blobs, _, err := pushedBlobs(ctx, pushed, bundles)
	if err != nil {
		return nil, err
	}
	return blobs, nil
}

// pushedBlobs returns the blobs of all readable images, and an error for the others. hidden are repositories with
// reserved names, whose images are not among them.
func pushedBlobs(ctx context.Context, pushed string, bundles []*bundle.Bundle) (_ map[string][]digest.Digest, hidden []string, _ error) {
	if _, err := os.Stat(pushed); err != nil {
		return nil, nil, host.IgnoreMissing(err)
	}
	view := bundle.NewView(bundle.NewestFirst(bundles)...)
	c, err := newCatalog(view.Bundles(), view.FS())
	if err != nil {
		return nil, nil, err
	}
	s, err := newStorage(c, pushed, nil) // an image that is hidden only by the name of a former bundle can still need a blob
	if err != nil {
		return nil, nil, err
	}
	defer s.files.Close()
	n, err := s.namespace(ctx)
	if err != nil {
		return nil, nil, err
	}
	blobs, problems := map[string][]digest.Digest{}, error(nil)
	records, hidden, err := scanLinks(s, func(path string, err error) {
		problems = errors.Join(problems, fmt.Errorf("read pushed images: %s: %w", s.file(engineRoot+"/repositories/"+path), err))
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read pushed images: %w", err)
	}
	for at, record := range records.All() {
		r, err := openRepository(ctx, n, at.Repository)
		if err != nil {
			return nil, nil, err
		}
		needed, err := r.blobsBelow(ctx, record.Digest)
		if err != nil {
			problems = errors.Join(problems, fmt.Errorf("read pushed image %s: %w", at, err))
			continue
		}
		blobs[at.String()] = needed
	}
	return blobs, hidden, problems
}

// removingPrefix starts the name of a bundle that is being removed.
const removingPrefix = ".removing-"

// Remove removes a bundle from the store. The names of its images stay reserved. Sweep completes an
// interrupted Remove.
func (s Store) Remove(b *bundle.Bundle) error {
	dir, err := s.bundleDir(b)
	if err != nil {
		return err
	}
	if err := s.recordNames(b); err != nil {
		return fmt.Errorf("remove bundle: %w", err)
	}
	renamed := filepath.Join(s.Dir, removingPrefix+filepath.Base(dir))
	if err := os.Rename(dir, renamed); err != nil {
		return fmt.Errorf("remove bundle: %w", err)
	}
	if err := host.SyncDir(s.Dir); err != nil {
		return fmt.Errorf("remove bundle: %w", err)
	}
	return errors.Join(host.IgnoreMissing(os.Remove(linkIDFile(dir))), host.RemoveTree(renamed))
}

// Sweep deletes the remains of an interrupted Remove.
func (s Store) Sweep() error {
	remaining, err := filepath.Glob(filepath.Join(s.Dir, removingPrefix+"*"))
	for _, dir := range remaining {
		err = errors.Join(err, host.RemoveTree(dir))
	}
	return err
}
