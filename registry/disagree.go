package registry

import (
	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/registry/names"
)

// Disagreement is a tag that two bundles use for different images. The registry serves the newer
// bundle's image under the tag, and the other image only by its digest.
type Disagreement struct {
	Image string `json:"image"` // with the tag
	Of    string `json:"of"`    // the bundle of the served image
	Is    string `json:"is"`    // its digest
	Not   string `json:"not"`   // the older bundle
	Was   string `json:"was"`   // its image's digest
}

// Disagreements lists them in the order of the locks, newest bundle first. A tag has one entry for
// each older bundle with another image.
func Disagreements(bundles []*bundle.Bundle) []Disagreement {
	type source struct{ by, digest string }
	served := map[string]source{}
	var all []Disagreement
	for _, b := range bundle.NewestFirst(bundles) {
		for _, image := range b.Index().Lock.Images {
			name, tag, err := names.Parse(image.Name)
			if err != nil || tag == "" {
				continue
			}
			ref := name + ":" + tag
			newest, taken := served[ref]
			switch {
			case !taken:
				served[ref] = source{b.Index().Name, image.Digest}
			case newest.digest != image.Digest:
				all = append(all, Disagreement{ref, newest.by, newest.digest, b.Index().Name, image.Digest})
			}
		}
	}
	return all
}
