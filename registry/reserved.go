package registry

import (
	"fmt"
	"strings"
)

// reserved are the repositories that only bundles may fill. A pushed image in one of
// them would run wherever a pod names the upstream image.
//
// A whole host is reserved, not a tag: a tag that no bundle has yet, or no longer has,
// is what a runtime asks for next.
type reserved struct {
	hosts  map[string]bool // first components of the bundles' names, in lower case
	images map[string]bool // repositories of the bundles that are, or were, here
}

// newReserved takes the names of the bundles that are served, and of those that were in
// the store before.
func newReserved(c *catalog, brought []string) (reserved, error) {
	r := reserved{hosts: map[string]bool{}, images: map[string]bool{}}
	for name := range c.repositories {
		r.add(name)
	}
	for _, image := range brought {
		name, _, err := parseImageName(image)
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

// has reports whether the repository is for bundles alone.
func (r reserved) has(repository string) bool {
	first, _, _ := strings.Cut(repository, "/")
	return hostLike(first) || r.hosts[strings.ToLower(first)]
}

// why is a sentence for the client that may not write to the repository.
func (r reserved) why(repository string) string {
	first, rest, _ := strings.Cut(repository, "/")
	came := ""
	if r.images[repository] {
		came = repository + " came with a bundle; "
	}
	if rest == "" {
		rest = "app"
	}
	return fmt.Sprintf("%snames of %s are reserved for bundles: push under another name, such as team/%s", came, first, rest[strings.LastIndexByte(rest, '/')+1:])
}

// hostLike reports whether clients take the first component of an image's name for a
// host: it has a dot or a port, which RepositoryName writes as "_5000", or is localhost.
func hostLike(first string) bool {
	name := strings.TrimRight(first, "0123456789")
	port := name != first && strings.HasSuffix(name, "_")
	return port || strings.EqualFold(first, "localhost") || strings.ContainsAny(first, ".:[")
}
