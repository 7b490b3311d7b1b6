package registry

import (
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
)

// v2Path contains the parts of a request's path in the registry protocol: /v2/NAME/KIND/REFERENCE.
type v2Path struct{ name, kind, reference string }

// parseV2Path returns false for paths without a repository, such as /v2/. The last separator counts:
// a repository may be called "x/blobs/y". Uploads have the kind "blobs/uploads".
func parseV2Path(path string) (v2Path, bool) {
	path, ok := strings.CutPrefix(path, "/v2/")
	if !ok {
		return v2Path{}, false
	}
	rest, reference := cutLast(path)
	name, kind := cutLast(rest)
	switch {
	case kind == "uploads":
		name, kind = strings.TrimSuffix(name, "/blobs"), uploads
	case kind == "blobs" && reference == "uploads": // some clients leave out the last slash
		kind, reference = uploads, ""
	}
	switch kind {
	case "manifests", "blobs", "tags", "referrers", uploads:
		return v2Path{name, kind, reference}, name != ""
	}
	return v2Path{}, false
}

// uploads is the kind of upload paths.
const uploads = "blobs/uploads"

func (p v2Path) String() string { return "/v2/" + p.name + "/" + p.kind + "/" + p.reference }

func cutLast(s string) (before, after string) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return "", s
	}
	return s[:i], s[i+1:]
}

// parseDigest parses a digest of a bundle, which must be SHA-256.
func parseDigest(s string) (digest.Digest, error) {
	d, err := digest.Parse(s)
	if err != nil {
		return "", fmt.Errorf("parse digest %q: %w", s, err)
	}
	if d.Algorithm() != digest.SHA256 {
		return "", fmt.Errorf("parse digest %q: bundles contain only SHA-256 digests", s)
	}
	return d, nil
}
