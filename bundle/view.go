package bundle

import (
	"errors"
	"io/fs"
	"slices"
)

// View is several bundles as one. If they differ at a path, the first bundle with the
// path counts: its own file, or, if a delta omits the file, the same bytes in another
// bundle.
type View struct {
	bundles []*Bundle
	files   files
}

// NewView joins the bundles in this order. It does not report the missing base of a
// delta, as Rest does; files of a missing base do not exist in the view.
func NewView(bundles ...*Bundle) *View {
	v := &View{bundles: bundles, files: files{byPath: map[string]*Content{}}}
	for _, b := range bundles {
		for _, f := range b.index.held() {
			if _, named := v.files.byPath[f.Path]; !named {
				v.files.byPath[f.Path] = find(f, b, bundles)
			}
		}
	}
	for path, c := range v.files.byPath {
		if c == nil {
			delete(v.files.byPath, path)
		}
	}
	v.files.list()
	return v
}

// find returns nil if none of the bundles has the file.
func find(f Held, first *Bundle, others []*Bundle) *Content {
	for _, b := range append([]*Bundle{first}, others...) {
		if b.has(f) {
			return b.files.byPath[f.Path]
		}
	}
	return nil
}

// Top is the first of the bundles, nil without bundles.
func (v *View) Top() *Bundle {
	if len(v.bundles) == 0 {
		return nil
	}
	return v.bundles[0]
}

// Bundles are the bundles of the view in their order.
func (v *View) Bundles() []*Bundle { return v.bundles }

// File is Bundle.File over all bundles.
func (v *View) File(path string) (*Content, error) { return v.files.open(path) }

// FS is Bundle.FS over all bundles.
func (v *View) FS() fs.FS { return v.files }

// Close closes the bundles.
func (v *View) Close() error {
	var errs []error
	for _, b := range v.bundles {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// NewestFirst orders bundles by their creation time, for a View.
func NewestFirst(bundles []*Bundle) []*Bundle {
	sorted := slices.Clone(bundles)
	slices.SortStableFunc(sorted, func(a, b *Bundle) int { return b.index.Created.Compare(a.index.Created) })
	return sorted
}
