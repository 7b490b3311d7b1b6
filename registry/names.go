package registry

import (
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/internal/reference"
)

const dockerHub = "docker.io"

// RepositoryName is the repository's name in our registry: the upstream host
// and path as they were written, "registry.k8s.io/pause". host may be empty
// when path begins with it; path is never given its host twice.
//
// A port in the host, which clients cannot put into a path, becomes a suffix:
// "quay.corp:8443" is "quay.corp_8443". No other host can have that name, since
// host names hold no underscore.
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
	switch host {
	case "index.docker.io", "registry-1.docker.io":
		return dockerHub
	}
	return strings.Replace(host, ":", "_", 1)
}

// parseImageName splits a lock's image name into our repository's name and the
// tag, which is empty when the image is named by digest alone.
func parseImageName(name string) (repository, tag string, err error) {
	ref, err := reference.ParseWritten(name)
	if err != nil {
		return "", "", err
	}
	return RepositoryName(ref.Host, ref.Path), ref.Tag, nil
}

// v2Path is a request's path in the registry protocol, taken apart:
// /v2/NAME/KIND/REFERENCE.
type v2Path struct{ name, kind, reference string }

// parseV2Path reports false for paths without a repository, as /v2/ itself.
// The last separator counts: a repository may be called "x/blobs/y". Uploads are
// of the kind "blobs/uploads".
func parseV2Path(path string) (v2Path, bool) {
	path, ok := strings.CutPrefix(path, "/v2/")
	if !ok {
		return v2Path{}, false
	}
	rest, reference := cutLast(path)
	name, kind := cutLast(rest)
	if kind == "uploads" {
		name, kind = strings.TrimSuffix(name, "/blobs"), uploads
	}
	switch kind {
	case "manifests", "blobs", "tags", "referrers", uploads:
		return v2Path{name, kind, reference}, name != ""
	}
	return v2Path{}, false
}

// uploads is the kind of the path of an upload.
const uploads = "blobs/uploads"

func (p v2Path) String() string { return "/v2/" + p.name + "/" + p.kind + "/" + p.reference }

func cutLast(s string) (before, after string) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return "", s
	}
	return s[:i], s[i+1:]
}

// parseDigest takes the digests that bundles hold, which are SHA-256.
func parseDigest(s string) (digest.Digest, error) {
	d, err := digest.Parse(s)
	if err != nil {
		return "", fmt.Errorf("parse digest %q: %w", s, err)
	}
	if d.Algorithm() != digest.SHA256 {
		return "", fmt.Errorf("parse digest %q: bundles hold SHA-256 only", s)
	}
	return d, nil
}
