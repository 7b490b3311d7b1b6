package registry

import (
	"maps"
	"path"
	"slices"

	"github.com/opencontainers/go-digest"
)

// engineRoot is the root directory of the distribution engine.
const engineRoot = "/docker/registry/v2"

// tree is the directory tree that the engine itself would have written for pushed images: links by
// name, and the blobs to which they point.
type tree map[string]*node

// node is a directory (children), a link (link) or a blob (blob).
type node struct {
	children map[string]bool // full paths
	link     digest.Digest
	blob     *blob
}

func newTree(c *catalog) tree {
	t := tree{"/": {children: map[string]bool{}}}
	t.directory(engineRoot + "/repositories")
	for d, b := range c.blobs {
		t.add(dataPath(d), &node{blob: &b})
	}
	for name, r := range c.repositories {
		t.addRepository(repositoryPath(name), r)
	}
	return t
}

// The following paths are the engine's layout.

func dataPath(d digest.Digest) string {
	return path.Join(engineRoot, "blobs", d.Algorithm().String(), d.Encoded()[:2], d.Encoded(), "data")
}

func repositoryPath(name string) string { return path.Join(engineRoot, "repositories", name) }

func tagPath(tag string) string { return "/_manifests/tags/" + tag + "/current/link" }

func revisionPath(d digest.Digest) string { return linkPath("/_manifests/revisions", d) }

func layerPath(d digest.Digest) string { return linkPath("/_layers", d) }

func linkPath(under string, d digest.Digest) string {
	return path.Join(under, d.Algorithm().String(), d.Encoded(), "link")
}

func (t tree) addRepository(root string, r *repository) {
	t.directory(root + "/_manifests/tags") // also without a tag, so that a list of tags is empty instead of an error
	for tag, d := range r.tags {
		t.add(root+tagPath(tag), &node{link: d})
	}
	for d := range r.manifests {
		t.add(root+revisionPath(d), &node{link: d})
	}
	for d := range r.layers {
		t.add(root+layerPath(d), &node{link: d})
	}
}

func (t tree) add(p string, n *node) {
	t.directory(path.Dir(p)).children[p] = true
	t[p] = n
}

func (t tree) directory(p string) *node {
	if n, ok := t[p]; ok {
		return n
	}
	n := &node{children: map[string]bool{}}
	t.add(p, n)
	return n
}

func (n *node) list() []string { return slices.Sorted(maps.Keys(n.children)) }

func (n *node) size() int64 {
	if n.blob != nil {
		return n.blob.size
	}
	return int64(len(n.link))
}
