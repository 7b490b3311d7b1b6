package registry

import "airgap.dev/airgap/bundle"

// Disagreement is a tag that two bundles use for different images. The newer
// bundle's is served; the other image stays, by its digest.
type Disagreement struct {
	Image string `json:"image"` // with the tag
	Of    string `json:"of"`    // the bundle whose image is served
	Is    string `json:"is"`    // its digest
	Not   string `json:"not"`   // the older bundle
	Was   string `json:"was"`   // its image's digest
}

// Disagreements lists them in the order of the locks, newest bundle first. A tag that
// moved several times is there once for each older bundle that has another image.
func Disagreements(bundles []*bundle.Bundle) []Disagreement {
	type said struct{ by, digest string }
	served := map[string]said{}
	var all []Disagreement
	for _, b := range bundle.NewestFirst(bundles) {
		for _, image := range b.Index().Lock.Images {
			name, tag, err := parseImageName(image.Name)
			if err != nil || tag == "" {
				continue
			}
			ref := name + ":" + tag
			newest, taken := served[ref]
			switch {
			case !taken:
				served[ref] = said{b.Index().Name, image.Digest}
			case newest.digest != image.Digest:
				all = append(all, Disagreement{ref, newest.by, newest.digest, b.Index().Name, image.Digest})
			}
		}
	}
	return all
}
