package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// copies lets clients copy images of bundles that upstream has for several platforms. A bundle has
// upstream's index and the manifests of one platform. A client that copies an index asks for all of
// its manifests, and fails. So for clients the tag is the manifest that runtimes run, which is
// complete. Nodes name the upstream host in their requests, and get the index: its digest is
// the one of the lock and of signatures.
type copies struct {
	catalog *catalog
	known   sync.Map // digest of an index to a bool: whether the bundles have everything that it lists
}

// path returns the path of the manifest that clients can copy. It changes only the tag of an
// incomplete index. If the index cannot be read, the engine reports the error.
func (c *copies) path(p v2Path) v2Path {
	r, bundled := c.catalog.repositories[p.name]
	if !bundled {
		return p
	}
	index, tagged := r.tags[p.reference]
	runs, several := r.runs[index]
	if !tagged || !several {
		return p
	}
	if complete, err := c.complete(r, index); complete || err != nil {
		return p
	}
	p.reference = runs.String()
	return p
}

// leftOut reports whether the path is a manifest by its digest that no bundle of the repository has.
func (c *copies) leftOut(p v2Path) bool {
	r, bundled := c.catalog.repositories[p.name]
	if !bundled {
		return false
	}
	d, err := parseDigest(p.reference)
	return err == nil && !r.manifests[d]
}

// leftOutText is for clients that copy an index by its digest: they print the text.
func leftOutText(p v2Path) string {
	return fmt.Sprintf("the bundles do not have %s@%s; of an image for several platforms they have the platform of the servers: copy the image by its tag", p.name, p.reference)
}

// complete reports whether the bundles have everything that the index lists. Indexes never change,
// so each is read once.
func (c *copies) complete(r *repository, index digest.Digest) (bool, error) {
	if is, known := c.known.Load(index); known {
		return is.(bool), nil
	}
	is, err := c.catalog.complete(r, index)
	if err == nil {
		c.known.Store(index, is)
	}
	return is, err
}

func (c *catalog) complete(r *repository, index digest.Digest) (bool, error) {
	seen := map[digest.Digest]bool{index: true}
	for left := []digest.Digest{index}; len(left) > 0; left = left[1:] {
		content, err := c.blobs[left[0]].read(maxManifest)
		if err != nil {
			return false, err
		}
		var document v1.Index
		if err := json.Unmarshal(content, &document); err != nil {
			return false, fmt.Errorf("read index %s: %w", left[0], err)
		}
		for _, m := range document.Manifests {
			if !r.manifests[m.Digest] && !r.layers[m.Digest] {
				return false, nil
			}
			if types.MediaType(m.MediaType).IsIndex() && !seen[m.Digest] {
				seen[m.Digest] = true
				left = append(left, m.Digest)
			}
		}
	}
	return true, nil
}

// read returns the complete content, of at most limit bytes.
func (b blob) read(limit int64) ([]byte, error) {
	if b.size > limit {
		return nil, fmt.Errorf("read blob: it has %d bytes, want at most %d", b.size, limit)
	}
	content, err := b.open()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(content)
	return text, errors.Join(err, content.Close())
}
