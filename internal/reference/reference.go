// Package reference takes image references apart: the one place that knows the full name of "nginx",
// and where a host, a path, a tag and a digest end.
package reference

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/distribution/reference"
)

// Reference is an image reference in its parts, with its host. It has a tag, a digest, both or
// neither.
type Reference struct {
	Host   string // "docker.io", "quay.corp:8443"
	Path   string // "library/nginx"
	Tag    string
	Digest string // "sha256:…"
}

// Parse reads a reference as people write it: "nginx" is docker.io/library/nginx.
func Parse(text string) (Reference, error) {
	named, err := reference.ParseNormalizedNamed(text)
	if err != nil {
		return Reference{}, fmt.Errorf("image reference %q: %w", text, err)
	}
	return partsOf(named), nil
}

// ParseWritten reads a reference HOST/PATH as it stands there: the first part is the host, with a
// dot or without ("harbor/team/app:1").
func ParseWritten(text string) (Reference, error) {
	ref, err := reference.Parse(text)
	if err != nil {
		return Reference{}, fmt.Errorf("image reference %q: %w", text, err)
	}
	named, is := ref.(reference.Named)
	if !is || reference.Domain(named) == "" {
		return Reference{}, fmt.Errorf("image reference %q: want HOST/PATH", text)
	}
	return partsOf(named), nil
}

func partsOf(named reference.Named) Reference {
	r := Reference{Host: reference.Domain(named), Path: reference.Path(named)}
	if tagged, is := named.(reference.Tagged); is {
		r.Tag = tagged.Tag()
	}
	if digested, is := named.(reference.Digested); is {
		r.Digest = digested.Digest().String()
	}
	return r
}

// ParseFull reads a reference that must be written in full, as a lock has it.
func ParseFull(text string) (Reference, error) {
	r, err := Parse(text)
	if err == nil && r.String() != text {
		err = fmt.Errorf("image reference %q: want it in full: %s", text, r)
	}
	return r, err
}

// Repository is HOST/PATH.
func (r Reference) Repository() string { return r.Host + "/" + r.Path }

// Base is the last part of the path: "nginx".
func (r Reference) Base() string { return path.Base(r.Path) }

// Bare reports whether it has no tag and no digest.
func (r Reference) Bare() bool { return r.Tag == "" && r.Digest == "" }

// Tagged has the tag latest where there is no tag and no digest.
func (r Reference) Tagged() Reference {
	if r.Bare() {
		r.Tag = "latest"
	}
	return r
}

// Pulled is the name in a container runtime: by digest where there is one, and by tag else.
func (r Reference) Pulled() Reference {
	if r.Digest != "" {
		r.Tag = ""
	}
	return r.Tagged()
}

// String is HOST/PATH[:TAG][@DIGEST].
func (r Reference) String() string {
	text := r.Repository()
	if r.Tag != "" {
		text += ":" + r.Tag
	}
	if r.Digest != "" {
		text += "@" + r.Digest
	}
	return text
}

// Familiar is the repository as people write it: "nginx".
func (r Reference) Familiar() string {
	return strings.TrimPrefix(strings.TrimPrefix(r.Repository(), "docker.io/"), "library/")
}

// Named is a repository's name as the libraries of registries take it. The error is about one
// that is none, with its host or without.
func Named(name string) (reference.Named, error) { return reference.WithName(name) }

// Among returns the images that come from the same repository as one of the others.
func Among(images []string, others ...string) []string {
	repository := func(image string) string {
		ref, err := Parse(image)
		if err != nil {
			return image
		}
		return ref.Repository()
	}
	return slices.DeleteFunc(slices.Clone(images), func(image string) bool {
		return !slices.ContainsFunc(others, func(other string) bool { return repository(other) == repository(image) })
	})
}

// SplitHost takes a repository apart that begins with its host; the path may be empty.
func SplitHost(repository string) (host, path string) {
	host, path, _ = strings.Cut(repository, "/")
	return host, path
}

// HostOf is the registry of a text that may be a reference, where it names one, as Docker decides it.
func HostOf(text string) (host string, has bool) {
	host, _, has = strings.Cut(text, "/")
	return host, has && (strings.ContainsAny(host, ".:") || host == "localhost")
}

// HasEnd reports whether a text that may be a reference has a tag or a digest.
func HasEnd(text string) bool { return strings.ContainsAny(path.Base(text), ":@") }

// TagOf is the tag of a text that may be a reference; "" for one without.
func TagOf(text string) string {
	text, _, _ = strings.Cut(text, "@")
	_, tag, _ := strings.Cut(path.Base(text), ":")
	return tag
}

// BaseOf is the last part of the path of a text that may be a reference: "nginx".
func BaseOf(text string) string {
	text, _, _ = strings.Cut(text, "@")
	base, _, _ := strings.Cut(path.Base(text), ":")
	return base
}

// DigestOf is the part behind the @ of an image's name or of a runtime's image ID.
func DigestOf(text string) (digest string, has bool) {
	_, digest, has = strings.Cut(text, "@")
	return digest, has
}
