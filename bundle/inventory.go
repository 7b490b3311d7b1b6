package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Inventory lists the contents that the servers have, according to bundles or to a
// receipt of a registry host.
type Inventory struct {
	Cluster string            `json:"cluster"` // cluster name in airgap.yaml
	Bundles []string          `json:"bundles"` // newest first
	Newest  time.Time         `json:"newest"`  // creation time of the newest bundle
	Images  map[string]string `json:"images"`  // digest by name
	Files   []Held            `json:"files"`   // sorted; a path can have several versions
	// OtherSite: the files are in another site's bundle on the same USB drive.
	OtherSite bool `json:"-"`
}

// NewInventory adds up bundles, newest first. The omitted files of a delta count too,
// because the servers refuse a delta without them.
func NewInventory(bundles ...*Index) Inventory {
	v := Inventory{Images: map[string]string{}}
	for i, x := range bundles {
		if i == 0 {
			v.Cluster, v.Newest = x.Cluster(), x.Created
		}
		v.Bundles = appendNew(v.Bundles, x.Name)
		v.Files = append(v.Files, x.held()...)
		for _, image := range x.Lock.Images {
			if _, newer := v.Images[image.Name]; !newer {
				v.Images[image.Name] = image.Digest
			}
		}
	}
	for _, x := range bundles {
		if x.IsDelta() {
			v.Bundles = appendNew(v.Bundles, x.Base.Bundles...)
		}
	}
	slices.SortFunc(v.Files, compareHeld)
	v.Files = slices.Compact(v.Files)
	return v
}

func appendNew(all []string, names ...string) []string {
	for _, n := range names {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// held returns all files in the lock, in the bundle or in its base.
func (x *Index) held() []Held {
	all := slices.Clone(x.Base.files())
	for _, f := range x.Files {
		all = append(all, f.held())
	}
	return all
}

func (e Entry) held() Held { return Held{Path: e.Path, Size: e.Size, SHA256: e.SHA256} }

func compareHeld(a, b Held) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.SHA256, b.SHA256), cmp.Compare(a.Size, b.Size))
}

// Validate refuses an impossible inventory.
func (v Inventory) Validate() error {
	if len(v.Bundles) == 0 {
		return errors.New("the inventory has no bundle")
	}
	for _, name := range append([]string{v.Cluster}, v.Bundles...) {
		if !isPlainName(name) {
			return fmt.Errorf("name %q: want letters, digits, dots, dashes", name)
		}
	}
	return validateHeld(v.Files)
}
