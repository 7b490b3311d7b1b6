package bundle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/ui"
)

// ErrBase is for errors.Is: a delta requires the bundles that it was made for.
var ErrBase = errors.New("the base of the delta is missing")

// BaseError lists the files of a delta's base that are missing.
type BaseError struct {
	Delta   string   // name of the delta
	From    []string // bundles with the missing files
	Missing []Held
	What    []string // images, packages and files that the missing files belong to
}

// maxMissing limits the items in the message of a BaseError.
const maxMissing = 5

func (e *BaseError) Error() string {
	var size int64
	for _, f := range e.Missing {
		size += f.Size
	}
	named, more := e.What, ""
	if len(named) > maxMissing {
		named, more = named[:maxMissing], fmt.Sprintf(", and %d more", len(named)-maxMissing)
	}
	return fmt.Sprintf("delta %s requires %d files (%s) of its base that are missing on this host: %s%s", e.Delta, len(e.Missing), ui.Size(size), strings.Join(named, ", "), more)
}

// Unwrap lets errors.Is find ErrBase.
func (e *BaseError) Unwrap() error { return ErrBase }

// Hint is the next step for the user.
func (e *BaseError) Hint() string {
	return fmt.Sprintf("the files are in bundle %s: import that bundle with airgap registry import DIR, then run the same command with the delta again; or make a bundle without --delta-from", strings.Join(e.From, " or "))
}

// Rest returns the bundles in others that have omitted files of the delta, in their
// order. If a file is in none of them, the error is a *BaseError. A complete bundle
// needs none.
func (b *Bundle) Rest(others []*Bundle) ([]*Bundle, error) {
	var needed []*Bundle
	missing := b.index.Base.files()
	for _, other := range others {
		left := slices.DeleteFunc(slices.Clone(missing), other.has)
		if len(left) < len(missing) {
			needed, missing = append(needed, other), left
		}
	}
	if len(missing) > 0 {
		return nil, &BaseError{Delta: b.index.Name, From: b.index.Base.Bundles, Missing: missing, What: b.index.Lock.owners(missing)}
	}
	return needed, nil
}

// has reports whether the bundle's own parts contain the file.
func (b *Bundle) has(f Held) bool {
	c, ok := b.files.byPath[f.Path]
	return ok && c.entry.held() == f
}

// owners returns the display names of the items that files belong to, in the order of
// the lock.
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
