package store

import (
	"fmt"
	"io"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/ui"
)

// Bundle is a bundle in a list.
type Bundle struct {
	Name     string `json:"name"`
	Created  string `json:"created"`
	Bytes    int64  `json:"bytes"`
	Images   int    `json:"images"`
	Packages int    `json:"packages"`
	// Left is how many files a delta leaves to other bundles.
	Left int `json:"left,omitempty"`
}

// Describe returns the entry of a bundle in a list.
func Describe(i *bundle.Index) Bundle {
	s := Bundle{Name: i.Name, Created: i.Created.Format("2006-01-02 15:04 MST"), Images: len(i.Lock.Images), Packages: len(i.Lock.Packages), Left: len(i.Left())}
	for _, p := range i.Parts {
		s.Bytes += p.Size
	}
	return s
}

func (b Bundle) write(w io.Writer) error {
	delta := ""
	if b.Left > 0 {
		delta = fmt.Sprintf("; %s of it in other bundles", ui.Count(b.Left, "file"))
	}
	_, err := fmt.Fprintf(w, "%-24s %s  %9s  %d images, %d packages%s\n", b.Name, b.Created, ui.Size(b.Bytes), b.Images, b.Packages, delta)
	return err
}
