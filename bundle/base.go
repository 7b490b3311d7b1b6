package bundle

import (
	"fmt"
	"io/fs"
	"math"
	"strings"
)

// Held is a file of a bundle by what makes it the same one: its path in the
// tar, and its bytes.
type Held struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// Base is what a delta leaves out because the servers have it.
type Base struct {
	Cluster string   `json:"cluster"` // its name in airgap.yaml
	Bundles []string `json:"bundles"` // that brought it there, newest first
	Files   []Held   `json:"files"`   // sorted by path; the lock names them too
}

// IsDelta reports whether the bundle is of use only beside others.
func (x *Index) IsDelta() bool { return x.Base != nil }

// Cluster is the name in the bundle's airgap.yaml; that of a delta's directory
// is a longer one.
func (x *Index) Cluster() string {
	if x.IsDelta() {
		return x.Base.Cluster
	}
	return x.Name
}

// Find is what the lock's world has at a path, in the bundle or left out.
func (x *Index) Find(path string) (Held, bool) {
	for _, f := range x.held() {
		if f.Path == path {
			return f, true
		}
	}
	return Held{}, false
}

// Left are the files that a delta leaves out; a whole bundle leaves out none.
func (x *Index) Left() []Held { return x.Base.files() }

// files are those left out; a whole bundle leaves out none.
func (b *Base) files() []Held {
	if b == nil {
		return nil
	}
	return b.Files
}

// bytes is the size of all that is left out.
func (b *Base) bytes() int64 {
	var total int64
	for _, f := range b.files() {
		total += f.Size
	}
	return total
}

// validate wants the base's paths to be none of the bundle's own.
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
			return fmt.Errorf("base: path %q is there twice", f.Path)
		}
		taken[f.Path] = true
	}
	if err := validateHeld(b.Files); err != nil {
		return fmt.Errorf("base: %w", err)
	}
	return validateParents(taken)
}

// validateHeld wants paths that stay inside, and sizes that can be added up.
func validateHeld(files []Held) error {
	var total int64
	for _, f := range files {
		if !isInside(f.Path) {
			return fmt.Errorf("path %q is not allowed", f.Path)
		}
		if !isSHA256(f.SHA256) {
			return fmt.Errorf("%s: %q is no SHA-256", f.Path, f.SHA256)
		}
		if f.Size < 0 || f.Size > math.MaxInt64-total {
			return fmt.Errorf("%s: size %d", f.Path, f.Size)
		}
		total += f.Size
	}
	return nil
}

// isInside accepts paths that lead to a file below where they begin.
func isInside(path string) bool {
	return fs.ValidPath(path) && path != "." && !strings.ContainsAny(path, "\\\x00")
}
