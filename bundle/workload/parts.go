package workload

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/reference"
)

// role is the role of a value in a reference that consists of parts.
type role string

const (
	registryPart   role = "registry"   // quay.io
	repositoryPart role = "repository" // quay.io/shop, quay.io/shop/till
	imagePart      role = "image"      // till, shop/till
	namePart       role = "name"       // till
	tagPart        role = "tag"        // 1.2
	versionPart    role = "version"    // 1.2, sha256:…
	digestPart     role = "digest"     // sha256:…
)

// partOf splits the words of a key into the name of a reference and the role of the
// value: "trivy.repository" and "TRIVY_IMAGE_REPOSITORY" are the repository of trivy.
func partOf(words []string) (about string, part role) {
	last := len(words) - 1
	if last < 0 {
		return "", ""
	}
	switch words[last] {
	case "registry", "hub":
		part = registryPart
	case "repository", "repo":
		part = repositoryPart
	case "image":
		return aboutOf(words[:last]), imagePart
	case "name":
		part = namePart
		if last > 0 && words[last-1] == "image" {
			part = imagePart
		}
	case "tag":
		part = tagPart
	case "version":
		part = versionPart
	case "digest", "sha", "sha256":
		part = digestPart
	default:
		return "", ""
	}
	words = words[:last]
	if last > 0 && words[last-1] == "image" {
		words = words[:last-1]
	}
	return aboutOf(words), part
}

// aboutOf ignores words that do not distinguish references: baseImage and tag belong
// together, and image and defaultImageVersion.
func aboutOf(words []string) string {
	if len(words) == 1 && (words[0] == "base" || words[0] == "default") {
		return ""
	}
	return strings.Join(words, " ")
}

// parts joins references that consist of several keys of one mapping. It returns these
// keys.
func (s *searcher) parts(m map[string]any, c context) (joined map[string]bool) {
	groups := map[string]*pieces{} // by the name of the reference
	for key, value := range sorted(m) {
		k, text := s.key(key), ""
		if k.part != "" {
			text = textOf(value)
		}
		if text == "" || len(text) > maxReference {
			continue
		}
		if groups[k.about] == nil {
			groups[k.about] = &pieces{named: c.named}
		}
		groups[k.about].set(k.part, key, text)
	}
	joined = map[string]bool{}
	for _, about := range slices.Sorted(maps.Keys(groups)) {
		p := groups[about]
		if p.registry == "" && p.repository == "" && isWord(p.image) {
			p.registry = c.hub.path
		}
		image, or := p.join()
		switch {
		case image != "":
			for _, key := range p.keys {
				joined[key] = true
			}
			s.add(Candidate{Ref: Ref{Image: image}, Or: or, Open: isOpen(image)})
		case p.isRepositoryAlone():
			s.add(Candidate{Ref: Ref{Image: cmp.Or(p.repository, p.name)}, Untagged: true})
		}
	}
	return joined
}

// textOf returns a text, or a number as text, because YAML reads a tag such as 1.2 as a number.
func textOf(value any) string {
	switch v := value.(type) {
	case string:
		return strings.TrimSpace(v)
	case int64, int, float64:
		return fmt.Sprint(v)
	}
	return ""
}

// pieces are the parts of one reference.
type pieces struct {
	registry, repository, image, name, tag, version, digest string
	named                                                   bool // the mapping is below a key such as image
	keys                                                    []string
}

func (p *pieces) set(part role, key, text string) {
	into := &p.registry
	switch part {
	case repositoryPart:
		into = &p.repository
	case imagePart:
		into = &p.image
	case namePart:
		into = &p.name
	case tagPart:
		into = &p.tag
	case versionPart:
		into = &p.version
	case digestPart:
		into = &p.digest
	}
	if *into == "" {
		*into, p.keys = text, append(p.keys, key)
	}
}

// join returns the reference, and the second one if the parts are ambiguous; "" if the
// parts are not a reference.
func (p pieces) join() (image, or string) {
	end := p.end()
	path := p.repository
	switch {
	case p.image != "" && reference.HasEnd(p.image):
		// Only the registry is missing.
		if end = ""; p.registry == "" && p.repository == "" || hasHost(p.image) {
			return "", ""
		}
		path = under(p.repository, p.image)
	case end == "":
		return "", ""
	case p.image != "":
		path = under(p.repository, p.image)
	case p.repository == "" && p.name != "" && (p.registry != "" || p.named || strings.Contains(p.name, "/")):
		path = p.name
	case p.repository != "" && p.name != "" && isWord(p.name):
		or = checked(under(p.registry, under(p.repository, p.name)) + end)
		if !strings.HasSuffix("/"+p.repository, "/"+p.name) {
			path, or = under(p.repository, p.name), checked(under(p.registry, path)+end)
		}
	case p.repository == "":
		return "", ""
	}
	image = checked(under(p.registry, path) + end)
	if image == "" {
		return or, ""
	}
	return image, or
}

// end returns the tag or digest with its separator, or "".
func (p pieces) end() string {
	switch {
	case strings.HasPrefix(p.digest, "sha256:"):
		return "@" + p.digest
	case len(p.digest) == 64:
		return "@sha256:" + p.digest
	case strings.HasPrefix(p.tag+p.version, "sha256:"):
		return "@" + p.tag + p.version
	case p.tag != "":
		return ":" + p.tag
	case p.version != "" && (p.image != "" || p.named || hasHost(p.repository) || hasHost(p.registry+"/")):
		return ":" + p.version
	}
	return ""
}

func hasHost(text string) bool { _, has := reference.HostOf(text); return has }

// checked returns "" if the text is not a reference with a tag or a digest.
func checked(image string) string {
	if f := formOf(withSamples(image)); f == noImage || f == untagged {
		return ""
	}
	return image
}

// isRepositoryAlone reports whether the parts are an image without a tag.
func (p pieces) isRepositoryAlone() bool {
	repository := cmp.Or(p.repository, p.name)
	return p.named && p.image == "" && hasHost(repository) && formOf(repository) == untagged
}

func under(registry, path string) string {
	registry = strings.TrimSuffix(registry, "/")
	if registry == "" || strings.HasPrefix(path, registry+"/") {
		return path
	}
	return registry + "/" + strings.TrimPrefix(path, "/")
}
