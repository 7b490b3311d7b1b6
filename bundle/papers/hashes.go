package papers

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/reference"
)

// Hash is one file of a bundle that the lock fixes before anything is downloaded.
type Hash struct {
	SHA256 string `json:"sha256"`
	Path   string `json:"path"` // in the tar
	Size   int64  `json:"size"`
	For    string `json:"for"` // image, package, file, chart or add-on
	Origin string `json:"origin,omitempty"`
}

// Hashes lists the files of a lock, sorted by path.
func Hashes(l bundle.Lock) []Hash {
	var all []Hash
	seen := map[string]bool{}
	add := func(h Hash) {
		if !seen[h.Path] {
			seen[h.Path] = true
			all = append(all, h)
		}
	}
	for _, image := range l.Images {
		host, _ := reference.SplitHost(image.Name)
		for _, b := range image.Blobs {
			add(Hash{strings.TrimPrefix(b.Digest, "sha256:"), bundle.BlobPath(b.Digest), b.Size, "image " + image.Name, host})
		}
	}
	for _, p := range l.Packages {
		add(Hash{p.SHA256, p.Path, p.Size, "package " + p.NEVRA.String(), hostOf(p.URL)})
	}
	for _, f := range l.Files {
		add(Hash{f.SHA256, f.Path, f.Size, "file " + f.Name, hostOf(f.URL)})
	}
	for _, a := range l.Applied() {
		add(Hash{a.SHA256, a.Path, a.Size, "objects of " + a.Name, ""})
		if c := a.Chart; c != nil {
			add(Hash{c.SHA256, c.Path, c.Size, "chart " + c.Name + " " + c.Version, hostOf(c.Repository)})
		}
	}
	slices.SortFunc(all, func(a, b Hash) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// hostOf is the host of a URL; "" for a file on the connected host.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}

// WriteHashes writes the input of sha256sum -c in a directory with the unpacked parts.
func WriteHashes(w io.Writer, hashes []Hash) error {
	for _, h := range hashes {
		if _, err := fmt.Fprintf(w, "%s  %s\n", h.SHA256, h.Path); err != nil {
			return err
		}
	}
	return nil
}
