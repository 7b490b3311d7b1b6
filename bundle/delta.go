package bundle

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Retagged is an image with a tag that has another digest on the servers. Both images
// stay: the delta contains the manifests of the new image and all missing layers.
type Retagged struct {
	Name string `json:"name"`
	Was  string `json:"was"` // digest
	Is   string `json:"is"`  // digest
}

// makeDelta turns the plan into a delta: it omits the files that the servers have and that
// would have to be fetched. Manifests and package metadata are at hand and always
// included, so a delta describes all contents.
func (p *Plan) makeDelta(v *Inventory) error {
	if v == nil {
		return nil
	}
	there := make(map[Held]bool, len(v.Files))
	for _, f := range v.Files {
		there[f] = true
	}
	p.Base = &Base{Cluster: v.Cluster, Bundles: v.Bundles, Files: []Held{}}
	for path, e := range p.Lock.entries() {
		if _, atHand := p.small[path]; !atHand && there[e.held()] {
			p.Base.Files = append(p.Base.Files, e.held())
		}
	}
	slices.SortFunc(p.Base.Files, compareHeld)
	for _, image := range p.Lock.Images {
		if was, known := v.Images[image.Name]; known && was != image.Digest {
			p.Retagged = append(p.Retagged, Retagged{Name: image.Name, Was: was, Is: image.Digest})
		}
	}
	var err error
	p.Name, err = p.deltaName()
	return err
}

// checkBase requires a base of this cluster that is not newer than the plan, because on
// the servers the newest bundle counts. The same second is allowed.
func (p *Plan) checkBase(v *Inventory) error {
	if v == nil {
		return nil
	}
	if v.OtherSite {
		v.Cluster, v.Images = p.Name, nil // its cluster and its tags are not those of this site
	}
	if p.Name != v.Cluster {
		return fmt.Errorf("the base is for cluster %s, but this configuration is for %s: pass a bundle or a receipt of this cluster", v.Cluster, p.Name)
	}
	if p.Created.Equal(v.Newest.UTC().Truncate(time.Second)) {
		p.Created = p.Created.Add(time.Second)
	}
	if !p.Created.After(v.Newest) {
		return fmt.Errorf("the base was made on %s, but the clock of this host shows %s: set the clock, because on the servers the newest bundle counts",
			v.Newest.UTC().Format(time.RFC3339), p.Created.Format(time.RFC3339))
	}
	return nil
}

// deltaName is a unique name for each delta of a cluster; it is the same for the same
// lock and base.
func (p *Plan) deltaName() (string, error) {
	text, err := json.Marshal([]any{p.Lock, p.Base})
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s-delta-%.12s", p.Name, sha256Hex(text))
	if !isPlainName(name) {
		return "", fmt.Errorf("name %q is too long for a directory", name)
	}
	return name, nil
}

// version is the format version of the index.
func (p *Plan) version() int {
	if p.Base != nil {
		return DeltaVersion
	}
	return FormatVersion
}
