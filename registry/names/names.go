// Package names decides under which names images are in airgap's registries: the upstream host and
// path, in a form that every client can request.
package names

import (
	"net/netip"
	"strings"

	"airgap.dev/airgap/internal/reference"
)

// DockerHub is the host of images whose name has none.
const DockerHub = "docker.io"

// Canary is an image that exists only in airgap's registries, because its domain cannot exist
// (RFC 2606). If a runtime can pull it, the runtime uses and trusts these registries.
const Canary = "airgap.invalid/canary:1"

// Repository returns the repository's name in airgap's registry: the upstream host and path as
// written, such as "registry.k8s.io/pause". host may be empty if path starts with it. The result
// never contains the host twice.
//
// Clients cannot put a port into a path. It becomes a suffix of the host: "quay.corp:8443" is
// "quay.corp_8443". No other host can have that name, because host names contain no underscore. An IPv6 address
// becomes "ipv6_fd00-0000-0000-0000-0000-0000-0000-0001". A host in upper case is the one in lower case.
func Repository(host, path string) string {
	if host == "" {
		host, path = reference.SplitHost(path)
	}
	canonical := Host(host)
	for _, written := range []string{host, canonical} {
		if rest, has := strings.CutPrefix(path, written+"/"); has {
			path = rest
			break
		}
	}
	if path == "" {
		return canonical
	}
	if canonical == DockerHub && !strings.Contains(path, "/") {
		path = "library/" + path
	}
	return canonical + "/" + path
}

// Host returns the first part of a repository's name for an upstream host (HOST or HOST:PORT).
func Host(host string) string {
	host = strings.ToLower(host)
	if address, port, is := ipv6(host); is {
		return "ipv6_" + strings.ReplaceAll(address.StringExpanded(), ":", "-") + strings.Replace(port, ":", "_", 1)
	}
	switch host {
	case "index.docker.io", "registry-1.docker.io":
		return DockerHub
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

// Parse returns the repository's name and the tag of an image in a lock. The tag is empty if
// the image is named only by digest.
func Parse(image string) (repository, tag string, err error) {
	ref, err := reference.ParseWritten(image)
	if err != nil {
		return "", "", err
	}
	return Repository(ref.Host, ref.Path), ref.Tag, nil
}
