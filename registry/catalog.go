package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/registry/names"
)

const blobDirectory = "oci/blobs/sha256/"

// catalog lists the content of all opened bundles, by repository.
type catalog struct {
	repositories map[string]*repository
	blobs        map[digest.Digest]blob
}

// repository is one upstream repository. Clients can read only its listed digests through it.
type repository struct {
	tags      map[string]digest.Digest
	manifests map[digest.Digest]bool
	layers    map[digest.Digest]bool          // layers and configurations
	runs      map[digest.Digest]digest.Digest // by the digest of an index: the manifest that runtimes run
}

// newCatalog reads the locks of the bundles, newest first. view contains the files of the bundles. A
// lock with a blob that no bundle contains is an error, because its image could not be pulled.
func newCatalog(bundles []*bundle.Bundle, view fs.FS) (*catalog, error) {
	c := &catalog{repositories: map[string]*repository{}, blobs: map[digest.Digest]blob{}}
	for _, b := range bundles {
		c.addBlobs(b.Index(), view)
	}
	var problems []error
	for _, b := range bundles {
		for _, image := range b.Index().Lock.Images {
			if err := c.addImage(image); err != nil {
				problems = append(problems, fmt.Errorf("bundle %s: %w", b.Index().Name, err))
			}
		}
	}
	return c, errors.Join(append(problems, c.addCanary())...)
}

func (c *catalog) addBlobs(index *bundle.Index, fsys fs.FS) {
	for _, f := range index.Files {
		hex, ok := strings.CutPrefix(f.Path, blobDirectory)
		if !ok {
			continue
		}
		d := digest.NewDigestFromEncoded(digest.SHA256, hex)
		if _, known := c.blobs[d]; !known {
			c.blobs[d] = blob{fsys: fsys, path: f.Path, size: f.Size, added: index.Created}
		}
	}
}

func (c *catalog) addImage(image bundle.Image) error {
	name, tag, err := names.Parse(image.Name)
	if err != nil {
		return err
	}
	target, err := parseDigest(image.Digest)
	if err != nil {
		return fmt.Errorf("image %s: %w", image.Name, err)
	}
	r := c.repository(name)
	if _, taken := r.tags[tag]; tag != "" && !taken {
		r.tags[tag] = target
	}
	for _, b := range image.Blobs {
		if err := c.addLink(r, b); err != nil {
			return fmt.Errorf("image %s: %w", image.Name, err)
		}
	}
	if !r.manifests[target] {
		return fmt.Errorf("image %s: its list of blobs does not contain its manifest %s", image.Name, target)
	}
	if runs := digest.Digest(image.Manifest().Digest); runs != target {
		r.runs[target] = runs
	}
	return nil
}

func (c *catalog) repository(name string) *repository {
	r, ok := c.repositories[name]
	if !ok {
		r = &repository{
			tags: map[string]digest.Digest{}, manifests: map[digest.Digest]bool{}, layers: map[digest.Digest]bool{},
			runs: map[digest.Digest]digest.Digest{},
		}
		c.repositories[name] = r
	}
	return r
}

func (c *catalog) addLink(r *repository, b bundle.Blob) error {
	d, err := parseDigest(b.Digest)
	if err != nil {
		return err
	}
	if _, held := c.blobs[d]; !held {
		return fmt.Errorf("no bundle of this registry contains blob %s", d)
	}
	if isManifest(b.MediaType) {
		r.manifests[d] = true
	} else {
		r.layers[d] = true
	}
	return nil
}

// layer returns a blob of the repository name.
func (c *catalog) layer(name string, d digest.Digest) (opener, bool) {
	r, ok := c.repositories[name]
	if !ok || !r.layers[d] {
		return nil, false
	}
	return c.blobs[d].open, true
}
