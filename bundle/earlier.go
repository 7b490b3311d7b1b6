package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/reference"
)

// Earlier has the contents of earlier bundles, by their SHA-256. A plan uses them in place of
// upstream: upstream may have removed them, and a download takes longer. A nil Earlier has
// none.
type Earlier struct {
	bundles []*Bundle
	bySum   map[string]*Content
}

// NewEarlier uses the contents of open bundles, with the first bundle preferred. Close closes
// them.
func NewEarlier(bundles ...*Bundle) *Earlier {
	e := &Earlier{bundles: bundles, bySum: map[string]*Content{}}
	for _, b := range bundles {
		for _, c := range b.files.byPath {
			if _, known := e.bySum[c.entry.SHA256]; !known {
				e.bySum[c.entry.SHA256] = c
			}
		}
	}
	return e
}

// Close closes the bundles.
func (e *Earlier) Close() error {
	if e == nil {
		return nil
	}
	var errs []error
	for _, b := range e.bundles {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// find returns the content with the size and SHA-256, or nil.
func (e *Earlier) find(size int64, sum string) *Content {
	if e == nil {
		return nil
	}
	c := e.bySum[sum]
	if c == nil || c.Size() != size {
		return nil
	}
	return c
}

// read returns the content with the SHA-256 if it has at most limit bytes; otherwise nil.
// Damaged content counts as absent, because upstream may have it.
func (e *Earlier) read(sum string, limit int64) []byte {
	if e == nil || e.bySum[sum] == nil || e.bySum[sum].Size() > limit {
		return nil
	}
	text, err := io.ReadAll(e.bySum[sum].Reader())
	if err != nil || sha256Hex(text) != sum {
		return nil
	}
	return text
}

// Reused are the contents of a plan that come from earlier bundles.
type Reused struct {
	Bundles []string `json:"bundles"` // directories
	Files   int      `json:"files"`
	Bytes   int64    `json:"bytes"`
	Items   []string `json:"items"` // the images, packages and files with these contents
}

// Reused lists the contents of the plan that come from earlier bundles; nil without an
// earlier bundle.
func (p *Plan) Reused() *Reused {
	if p.earlier == nil {
		return nil
	}
	r := &Reused{Items: []string{}}
	for _, b := range p.earlier.bundles {
		r.Bundles = append(r.Bundles, b.dir)
	}
	var held []Held
	for path, e := range p.Lock.entries() {
		if _, atHand := p.small[path]; !atHand && p.earlier.find(e.Size, e.SHA256) != nil && !slices.Contains(p.Base.files(), e.held()) {
			held = append(held, e.held())
			r.Bytes += e.Size
		}
	}
	r.Files = len(held)
	r.Items = append(r.Items, p.Lock.owners(held)...)
	return r
}

// Manifest prefers the earlier bundles for a reference by digest.
func (up upstream) Manifest(ctx context.Context, ref name.Reference) ([]byte, error) {
	if d, fixed := ref.(name.Digest); fixed {
		if raw := up.earlier.read(strings.TrimPrefix(d.DigestStr(), "sha256:"), fetch.MaxManifest); raw != nil {
			return raw, nil
		}
	}
	return up.Strict.Manifest(ctx, ref)
}

// maxReread limits a blob that is read into memory: the configuration of an image. Fill reads
// layers from the earlier bundle directly.
const maxReread = 16 << 20

// OpenBlob prefers the earlier bundles.
func (up upstream) OpenBlob(ctx context.Context, repo name.Repository, digest string, part fetch.Extent) (io.ReadCloser, error) {
	if text := up.earlier.read(strings.TrimPrefix(digest, "sha256:"), maxReread); text != nil {
		return rest(text, part), nil
	}
	return up.Strict.OpenBlob(ctx, repo, digest, part)
}

// movedOrGone is moved for an image that an earlier bundle may have: then a registry that
// refuses the request, or does not exist any longer, is a remark and no error.
func (up upstream) movedOrGone(ctx context.Context, fullName string, repo name.Repository, named reference.Reference, digest string) (*Moved, string, error) {
	m, err := up.moved(ctx, fullName, repo, named, digest)
	if err == nil || ctx.Err() != nil || up.earlier.read(strings.TrimPrefix(digest, "sha256:"), fetch.MaxManifest) == nil {
		return m, "", err
	}
	return nil, fmt.Sprintf("its registry did not say whether the tag moved (%v); the bundle uses the locked %s from an earlier bundle", err, digest), nil
}

// chart returns the locked chart for upstream's error, if an earlier bundle has it.
func (e *Earlier) chart(locked *Chart, failure error) (fetchedChart, bool) {
	if locked == nil {
		return fetchedChart{}, false
	}
	archive := e.read(locked.SHA256, chart.MaxArchive)
	notice := fmt.Sprintf("chart %s %s is from an earlier bundle, because upstream failed: %v", locked.Name, locked.Version, failure)
	return fetchedChart{archive: archive, digest: locked.Digest, indexed: locked.IndexDigest, notice: notice}, archive != nil
}

// packages returns the locked packages that the earlier bundles have, with their metadata.
func (e *Earlier) packages(ctx context.Context, l *Locked) ([]rpm.Kept, error) {
	if e == nil || l == nil {
		return nil, nil
	}
	wanted := map[string]rpm.Kept{}
	for _, p := range l.Lock.Packages {
		if !l.free(p.NEVRA.Name) && e.find(p.Size, p.SHA256) != nil {
			wanted[p.SHA256] = rpm.Kept{Repository: p.Repository, URL: p.URL}
		}
	}
	var all []rpm.Kept
	for _, b := range e.bundles {
		if b.index.Lock.OS == "" || len(wanted) == 0 {
			continue
		}
		some, err := rpm.ReadKept(ctx, b.FS(), RPMDir(b.index.Lock.OS), wanted)
		if err != nil {
			return nil, fmt.Errorf("read packages of bundle %s: %w", b.dir, err)
		}
		all = append(all, some...)
	}
	return all, nil
}
