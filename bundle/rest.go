package bundle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/ui"
)

// ErrBase is for errors.Is: a delta is of no use without the bundles that it was
// made against.
var ErrBase = errors.New("the delta's base is not here")

// BaseError says what of a delta's base is not there.
type BaseError struct {
	Delta   string   // its name
	From    []string // bundles that brought what lacks
	Lacking []Held
	What    []string // images, packages and files that it belongs to
}

// maxLacking is how many things a BaseError names.
const maxLacking = 5

func (e *BaseError) Error() string {
	var size int64
	for _, f := range e.Lacking {
		size += f.Size
	}
	named, more := e.What, ""
	if len(named) > maxLacking {
		named, more = named[:maxLacking], fmt.Sprintf(", and %d more", len(named)-maxLacking)
	}
	return fmt.Sprintf("delta %s needs %d files (%s) that it leaves out and that are not here: %s%s", e.Delta, len(e.Lacking), ui.Size(size), strings.Join(named, ", "), more)
}

// Unwrap lets errors.Is find ErrBase.
func (e *BaseError) Unwrap() error { return ErrBase }

// Hint says what to do.
func (e *BaseError) Hint() string {
	return fmt.Sprintf("bundle %s brought them: airgap registry import DIR takes such a bundle into this host's store, then come back with the delta; or make a bundle without --delta-from", strings.Join(e.From, " or "))
}

// Rest finds what a delta leaves out: those of the others that have something of
// it, in their order. What none of them has is a *BaseError. A whole bundle
// needs none.
func (b *Bundle) Rest(others []*Bundle) ([]*Bundle, error) {
	var needed []*Bundle
	lacking := b.index.Base.files()
	for _, other := range others {
		left := slices.DeleteFunc(slices.Clone(lacking), other.has)
		if len(left) < len(lacking) {
			needed, lacking = append(needed, other), left
		}
	}
	if len(lacking) > 0 {
		return nil, &BaseError{Delta: b.index.Name, From: b.index.Base.Bundles, Lacking: lacking, What: b.index.Lock.owners(lacking)}
	}
	return needed, nil
}

// has reports whether the bundle's own parts hold the file.
func (b *Bundle) has(f Held) bool {
	c, ok := b.files.byPath[f.Path]
	return ok && c.entry.held() == f
}

// owners are the things that files belong to, as people call them, in the
// lock's order.
func (l Lock) owners(files []Held) []string {
	wanted := make(map[string]bool, len(files))
	for _, f := range files {
		wanted[f.Path] = true
	}
	var what []string
	for _, i := range l.Images {
		if slices.ContainsFunc(i.Blobs, func(b Blob) bool { return wanted[BlobPath(b.Digest)] }) {
			what = append(what, "image "+i.Name)
		}
	}
	for _, p := range l.Packages {
		if wanted[p.Path] {
			what = append(what, "package "+p.NEVRA.String())
		}
	}
	for _, f := range l.Files {
		if wanted[f.Path] {
			what = append(what, "file "+f.Name)
		}
	}
	return what
}
