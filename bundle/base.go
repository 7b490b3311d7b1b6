package bundle

import (
	"fmt"
	"io/fs"
	"math"
	"strings"
)

// Held is a file of a bundle, identified by its path in the tar and its content.
type Held struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// Base lists the files that a delta omits because the servers have them.
type Base struct {
	Cluster string   `json:"cluster"` // cluster name in airgap.yaml
	Bundles []string `json:"bundles"` // the bundles with these files, newest first
	Files   []Held   `json:"files"`   // sorted by path; they are in the lock too
}

// IsDelta reports whether the bundle requires other bundles.
func (x *Index) IsDelta() bool { return x.Base != nil }

// Cluster is the cluster name in the bundle's airgap.yaml; the directory of a delta has
// a longer name.
func (x *Index) Cluster() string {
	if x.IsDelta() {
		return x.Base.Cluster
	}
	return x.Name
}

// Find returns the file at a path of the lock, in the bundle or in its base.
func (x *Index) Find(path string) (Held, bool) {
	for _, f := range x.held() {
		if f.Path == path {
			return f, true
		}
	}
	return Held{}, false
}

// Left returns the files that a delta omits; a complete bundle omits none.
func (x *Index) Left() []Held { return x.Base.files() }

func (b *Base) files() []Held {
	if b == nil {
		return nil
	}
	return b.Files
}

// Bytes is the total size of the omitted files.
func (b *Base) Bytes() int64 {
	var total int64
	for _, f := range b.files() {
		total += f.Size
	}
	return total
}

// validate checks that no path of the base is also in the bundle.
func (b *Base) validate(own []Entry) error {
	if b == nil {
		return nil
	}
	for _, name := range append([]string{b.Cluster}, b.Bundles...) {
		if !isPlainName(name) {
			return fmt.Errorf("base: name %q: want letters, digits, dots, dashes", name)
		}
	}
	taken := make(map[string]bool, len(own)+len(b.Files))
	for _, f := range own {
		taken[f.Path] = true
	}
	for _, f := range b.Files {
		if taken[f.Path] {
			return fmt.Errorf("base: duplicate path %q", f.Path)
		}
		taken[f.Path] = true
	}
	if err := validateHeld(b.Files); err != nil {
		return fmt.Errorf("base: %w", err)
	}
	return validateParents(taken)
}

// validateHeld checks that the paths are inside the bundle and that the sum of the
// sizes does not overflow.
func validateHeld(files []Held) error {
	var total int64
	for _, f := range files {
		if !isInside(f.Path) {
			return fmt.Errorf("path %q is not allowed", f.Path)
		}
		if !isSHA256(f.SHA256) {
			return fmt.Errorf("%s: %q is not a SHA-256", f.Path, f.SHA256)
		}
		if f.Size < 0 || f.Size > math.MaxInt64-total {
			return fmt.Errorf("%s: invalid size %d", f.Path, f.Size)
		}
		total += f.Size
	}
	return nil
}

// isInside accepts paths of files below the root of the bundle.
func isInside(path string) bool {
	return fs.ValidPath(path) && path != "." && !strings.ContainsAny(path, "\\\x00")
}
