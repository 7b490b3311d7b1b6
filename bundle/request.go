package bundle

import (
	"slices"
	"time"

	"airgap.dev/airgap/bundle/rpm"
)

// Request lists everything that a bundle must contain, derived from airgap.yaml.
type Request struct {
	Name     string    // bundle name: letters, digits, dots, dashes
	Config   []byte    // the original airgap.yaml
	Tool     string    // version of airgap
	Created  time.Time // zero means now
	Platform string    // linux/amd64
	Images   []Need
	Own      []OwnImage
	// Manifests are files of Kubernetes objects; the bundle includes their images: https
	// URLs, or paths relative to Dir, as in Addons.
	Manifests []string
	Ignore    []IgnoredImage // references that look like images and that no pod pulls
	// Network has the objects of the network plugin's project. They are applied before the
	// add-ons, with the plugin's patches. nil: none.
	Network     *AddonNeed
	Addons      []AddonNeed
	Dir         string   // directory of airgap.yaml
	KubeVersion string   // Kubernetes version for rendering charts, "1.36.3"
	Rules       []string // files with rules for the images of an operator's pods (package operators), relative to Dir
	Files       []FileNeed
	Packages    *rpm.Request // nil: no RPMs
	Locked      *Locked      // nil: resolve everything again
	Base        *Inventory   // nil: a complete bundle; else a delta without the files in it
	Earlier     *Earlier     // earlier bundles to use in place of upstream; nil: none
}

// Need is one image and the item that needs it. Several needs of the same image are merged.
type Need struct {
	Reference string
	NeededBy  string
}

// FileNeed is one file to fetch from a URL. SHA256 has its checksum, or the file at
// ChecksumURL has it, in the format of sha256sum or as hex only.
type FileNeed struct {
	Name        string // files/NAME in the bundle
	URL         string
	SHA256      string
	ChecksumURL string
	NeededBy    string
}

// reasons collects the items that need a thing, sorted and without duplicates.
type reasons map[string][]string

// add makes what known, even with an empty neededBy.
func (r reasons) add(what, neededBy string) {
	known := r[what]
	if i, found := slices.BinarySearch(known, neededBy); !found && neededBy != "" {
		known = slices.Insert(known, i, neededBy)
	}
	r[what] = known
}
