package bundle

import (
	"time"

	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Newest is the time of the newest RPM; without RPMs it is the start of 1970.
func (p *Plan) Newest() time.Time {
	if p.rpms == nil {
		return time.Unix(0, 0).UTC()
	}
	return p.rpms.closure.Newest(p.Created)
}

// Left returns the files that a delta omits, by path.
func (p *Plan) Left() LeftOut {
	l := LeftOut{}
	for _, f := range p.Base.files() {
		l[f.Path] = true
	}
	return l
}

// LeftOut are the paths that a delta omits.
type LeftOut map[string]bool

// Path reports whether the file at path is in the base.
func (l LeftOut) Path(path string) bool { return l[path] }

// Image reports whether all layers of the image are in the base; its manifests are
// never in the base.
func (l LeftOut) Image(i Image) bool {
	layers := 0
	for _, b := range i.Blobs {
		t := types.MediaType(b.MediaType)
		if t.IsIndex() || t.IsImage() {
			continue
		}
		if !l[BlobPath(b.Digest)] {
			return false
		}
		layers++
	}
	return layers > 0
}

// Bytes is the size of all locked items, each blob and each chart once.
func (l Lock) Bytes() int64 {
	var total int64
	seen := map[string]bool{}
	for _, i := range l.Images {
		for _, b := range i.Blobs {
			if !seen[b.Digest] {
				seen[b.Digest] = true
				total += b.Size
			}
		}
	}
	for _, one := range l.Packages {
		total += one.Size
	}
	for _, f := range l.Files {
		total += f.Size
	}
	for _, a := range l.Applied() {
		total += a.Size
		if c := a.Chart; c != nil && !seen[c.Path] {
			seen[c.Path] = true
			total += c.Size
		}
	}
	return total
}

// Size is the size of all blobs of the image.
func (i Image) Size() int64 {
	var total int64
	for _, b := range i.Blobs {
		total += b.Size
	}
	return total
}
