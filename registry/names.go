package registry

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/internal/reference"
)

const dockerHub = "docker.io"

// RepositoryName returns the repository's name in airgap's registry: the upstream host and path as
// written, such as "registry.k8s.io/pause". host may be empty if path starts with it. The result
// never contains the host twice.
//
// Clients cannot put a port into a path. It becomes a suffix of the host: "quay.corp:8443" is
// "quay.corp_8443". No other host can have that name, because host names contain no underscore. An IPv6 address
// becomes "ipv6_fd00-0000-0000-0000-0000-0000-0000-0001". A host in upper case is the one in lower case.
func RepositoryName(host, path string) string {
	if host == "" {
		host, path = reference.SplitHost(path)
	}
	canonical := repositoryHost(host)
	for _, written := range []string{host, canonical} {
		if rest, has := strings.CutPrefix(path, written+"/"); has {
			path = rest
			break
		}
	}
	if path == "" {
		return canonical
	}
	if canonical == dockerHub && !strings.Contains(path, "/") {
		path = "library/" + path
	}
	return canonical + "/" + path
}

func repositoryHost(host string) string {
	host = strings.ToLower(host)
	if address, port, is := ipv6(host); is {
		return "ipv6_" + strings.ReplaceAll(address.StringExpanded(), ":", "-") + strings.Replace(port, ":", "_", 1)
	}
	switch host {
	case "index.docker.io", "registry-1.docker.io":
		return dockerHub
	}
	return strings.Replace(host, ":", "_", 1)
}

// ipv6 splits "[ADDRESS]" and "[ADDRESS]:PORT".
func ipv6(host string) (address netip.Addr, port string, is bool) {
	inside, port, is := strings.Cut(strings.TrimPrefix(host, "["), "]")
	if !is {
		return address, "", false
	}
	address, err := netip.ParseAddr(inside)
	return address, port, err == nil
}

// parseImageName returns the repository's name and the tag of an image in a lock. The tag is empty if
// the image is named only by digest.
func parseImageName(name string) (repository, tag string, err error) {
	ref, err := reference.ParseWritten(name)
	if err != nil {
		return "", "", err
	}
	return RepositoryName(ref.Host, ref.Path), ref.Tag, nil
}

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
