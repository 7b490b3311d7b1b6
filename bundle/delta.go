package bundle

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Retagged is an image that the servers know by another digest. Both stay: the
// delta brings the new one's manifests, and all layers that are not there.
type Retagged struct {
	Name string `json:"name"`
	Was  string `json:"was"` // digest
	Is   string `json:"is"`  // digest
}

// restOn makes the plan that of a delta: what the servers have and would have to
// be fetched again is left out. What is at hand already, manifests and the
// packages' metadata, is always whole, so a delta describes all there is.
func (p *Plan) restOn(v *Inventory) error {
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

// checkBase wants a base of this cluster that is older than the plan: on the
// servers the newest bundle counts. Two bundles of one second are in order.
func (p *Plan) checkBase(v *Inventory) error {
	if v == nil {
		return nil
	}
	if p.Name != v.Cluster {
		return fmt.Errorf("the base is of cluster %s, this configuration of %s: name a bundle or a receipt of this cluster", v.Cluster, p.Name)
	}
	if p.Created.Equal(v.Newest.UTC().Truncate(time.Second)) {
		p.Created = p.Created.Add(time.Second)
	}
	if !p.Created.After(v.Newest) {
		return fmt.Errorf("the base was made on %s, and this host's clock says %s: set the clock, for on the servers the newest bundle counts",
			v.Newest.UTC().Format(time.RFC3339), p.Created.Format(time.RFC3339))
	}
	return nil
}

// deltaName tells deltas of one cluster apart: the same for the same lock on the
// same base.
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

// version is that of the index.
func (p *Plan) version() int {
	if p.Base != nil {
		return DeltaVersion
	}
	return FormatVersion
}
