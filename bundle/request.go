package bundle

import (
	"slices"
	"time"

	"airgap.dev/airgap/bundle/rpm"
)

// Request is everything a bundle has to hold, as derived from airgap.yaml.
type Request struct {
	Name     string    // of the bundle; letters, digits, dots, dashes
	Config   []byte    // airgap.yaml as it was given
	Tool     string    // version of airgap
	Created  time.Time // zero means now
	Platform string    // linux/amd64
	Images   []Need
	Own      []OwnImage
	// Manifests are files of Kubernetes objects whose images are carried:
	// https URLs, or paths relative to Dir, as in Addons.
	Manifests []string
	Ignore    []IgnoredImage // what looks like an image and is none that a pod pulls
	// Network is what the pod network's plugin takes of its project; its objects
	// are applied before the add-ons', by who patches them. nil: nothing.
	Network     *AddonNeed
	Addons      []AddonNeed
	Dir         string   // of airgap.yaml
	KubeVersion string   // "1.36.3": what charts are rendered for
	Rules       []string // files that say what the pods of an operator pull (package operators), relative to Dir
	Files       []FileNeed
	Packages    *rpm.Request // nil: no RPMs
	Locked      *Locked      // nil: everything is decided anew
	Base        *Inventory   // nil: the bundle is whole; else a delta without what is in it
}

// Need is one image and who asked for it. Several needs of the same image
// become one.
type Need struct {
	Reference string
	NeededBy  string
}

// FileNeed is one file to fetch by URL. Its SHA-256 is given, or stands in
// the file at ChecksumURL, as sha256sum writes it or as bare hex.
type FileNeed struct {
	Name        string // files/NAME in the bundle
	URL         string
	SHA256      string
	ChecksumURL string
	NeededBy    string
}

// reasons collects who needs a thing, sorted and each once.
type reasons map[string][]string

// add makes what known, even if neededBy does not say why.
func (r reasons) add(what, neededBy string) {
	known := r[what]
	if i, found := slices.BinarySearch(known, neededBy); !found && neededBy != "" {
		known = slices.Insert(known, i, neededBy)
	}
	r[what] = known
}
