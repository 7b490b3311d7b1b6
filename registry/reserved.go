package registry

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/registry/names"
)

// reserved are the repositories for images of bundles only. A pushed image in one of them would run in
// each pod that names the upstream image.
//
// A complete host is reserved, not single tags, because a runtime may later pull a tag that no bundle
// has yet, or has no longer.
type reserved struct {
	hosts  map[string]bool // first components of the bundles' names, in lower case
	images map[string]bool // repositories of current and earlier bundles
}

// newReserved takes the names of the served bundles, and of earlier bundles of the store.
func newReserved(c *catalog, imported []string) (reserved, error) {
	r := reserved{hosts: map[string]bool{}, images: map[string]bool{}}
	for name := range c.repositories {
		r.add(name)
	}
	for _, image := range imported {
		name, _, err := names.Parse(image)
		if err != nil {
			return r, err
		}
		r.add(name)
	}
	return r, nil
}

func (r reserved) add(repository string) {
	first, _, _ := strings.Cut(repository, "/")
	r.hosts[strings.ToLower(first)] = true
	r.images[repository] = true
}

// has reports whether only bundles may use the repository.
func (r reserved) has(repository string) bool {
	first, _, _ := strings.Cut(repository, "/")
	return hostLike(first) || r.hosts[strings.ToLower(first)]
}

// why returns the reason for a client that tries to write to the repository.
func (r reserved) why(repository string) string {
	first, rest, _ := strings.Cut(repository, "/")
	prefix := ""
	if r.images[repository] {
		prefix = repository + " is an image of a bundle; "
	}
	if rest == "" {
		rest = "app"
	}
	return fmt.Sprintf("%snames of %s are reserved for bundles: push under another name, such as team/%s", prefix, first, rest[strings.LastIndexByte(rest, '/')+1:])
}

// hostLike reports whether clients interpret the first component of an image's name as a host: it has
// a dot or a port, which package names writes as "_5000", or it is localhost.
func hostLike(first string) bool {
	name := strings.TrimRight(first, "0123456789")
	port := name != first && strings.HasSuffix(name, "_")
	return port || strings.EqualFold(first, "localhost") || strings.ContainsAny(first, ".:[")
}
