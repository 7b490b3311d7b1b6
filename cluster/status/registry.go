package status

import (
	"airgap.dev/airgap/bundle"
)

// StoredBundle is one line of `registry status`.
type StoredBundle struct {
	Name     string `json:"name"`
	Created  string `json:"created"`
	Bytes    int64  `json:"bytes"`
	Images   int    `json:"images"`
	Packages int    `json:"packages"`
	// Left is how many files a delta leaves to other bundles.
	Left int `json:"left,omitempty"`
}

// Describe returns what a list of bundles says of one.
func Describe(i *bundle.Index) StoredBundle {
	s := StoredBundle{Name: i.Name, Created: i.Created.Format("2006-01-02 15:04 MST"), Images: len(i.Lock.Images), Packages: len(i.Lock.Packages), Left: len(i.Left())}
	for _, p := range i.Parts {
		s.Bytes += p.Size
	}
	return s
}
