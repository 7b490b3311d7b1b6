package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"sort"

	"github.com/containerd/platforms"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/ui"
)

// Source is the repository of one image.
type Source interface {
	// Document returns a verified document: its bytes have the digest d.
	Document(ctx context.Context, d digest.Digest) (*Document, error)
	// Blob returns the bytes from the registry, not verified.
	Blob(ctx context.Context, d digest.Digest) (io.ReadCloser, error)
}

// tree collects every blob that containerd fetches for an image. containerd fetches
// more than it runs, and the pull fails if airgap's registry does not have all of it.
type tree struct {
	from     Source
	platform ocispec.Platform
	// fetched matches the entries of an index that containerd's CRI plugin fetches
	// (core/transfer/image and internal/cri/server/images).
	fetched platforms.Matcher
	// run matches and orders the entries that it may run: platforms.Default(), which is the
	// same on every x86-64 processor because it ignores the level.
	run platforms.MatchComparer

	documents map[digest.Digest]*Document
	order     []*Document // in the order of reading
	configs   map[digest.Digest]configuration
	blobs     []Blob          // children before their parents
	counts    map[listing]int // references that containerd follows from this entry, 0 before the visit
	sizes     map[digest.Digest]int64

	kept    int64 // bytes of documents and configurations
	remarks []string
}

// listing identifies an entry: one digest can be listed with several media types.
type listing struct {
	digest    digest.Digest
	mediaType string
}

func newTree(from Source, platform ocispec.Platform) *tree {
	return &tree{
		from: from, platform: platform, fetched: platforms.OnlyStrict(platform), run: platforms.Only(platform),
		documents: map[digest.Digest]*Document{}, configs: map[digest.Digest]configuration{},
		counts: map[listing]int{}, sizes: map[digest.Digest]int64{},
	}
}

// grow reads everything below top and returns the manifest that containerd runs.
func (t *tree) grow(ctx context.Context, top *Document) (*Document, error) {
	t.add(top)
	if _, err := t.visit(ctx, top.descriptor(), 0); err != nil {
		return nil, err
	}
	chosen, err := t.choose(top)
	if err == nil {
		err = t.check(top, chosen)
	}
	return chosen, err
}

// list returns the blobs in the order of a lock: the top, the manifest that containerd runs,
// then all others, children before parents.
func (t *tree) list(top, chosen *Document) []Blob {
	first := []Blob{blobOf(top.descriptor())}
	if chosen != top {
		first = append(first, blobOf(chosen.descriptor()))
	}
	rest := slices.DeleteFunc(slices.Clone(t.blobs), func(b Blob) bool { return slices.Contains(first, b) })
	return append(first, rest...)
}

func blobOf(d ocispec.Descriptor) Blob {
	return Blob{Digest: d.Digest.String(), Size: d.Size, MediaType: d.MediaType}
}

// visit adds d and everything below it. It returns the number of references that containerd
// follows, which counts duplicates.
func (t *tree) visit(ctx context.Context, d ocispec.Descriptor, depth int) (int, error) {
	if err := fault(d); err != nil {
		return 0, err
	}
	if size, known := t.sizes[d.Digest]; known && size != d.Size {
		return 0, fmt.Errorf("%s is listed with %d bytes and with %d bytes: one size is wrong; report it to the publisher", d.Digest, size, d.Size)
	}
	at := listing{d.Digest, d.MediaType}
	if n := t.counts[at]; n > 0 {
		return n, nil
	}
	t.sizes[d.Digest] = d.Size
	count, err := t.children(ctx, d, depth)
	if err != nil {
		return 0, err
	}
	t.counts[at] = count + 1
	t.blobs = append(t.blobs, blobOf(d))
	return count + 1, nil
}

func (t *tree) children(ctx context.Context, d ocispec.Descriptor, depth int) (int, error) {
	switch {
	case nonDistributable(d.MediaType):
		return 0, t.available(ctx, d)
	case !IsManifest(d.MediaType) && !isIndexType(d.MediaType):
		return 0, nil
	case depth > maxNesting:
		return 0, fmt.Errorf("the indexes are nested deeper than %d levels", maxNesting)
	}
	return t.below(ctx, d, depth+1)
}

// available checks that the registry serves a blob. Registries often lack non-distributable
// layers and entries of unknown types.
func (t *tree) available(ctx context.Context, d ocispec.Descriptor) error {
	body, err := t.from.Blob(ctx, d.Digest)
	if err != nil {
		return fmt.Errorf("%s (media type %q): %w", d.Digest, d.MediaType, err)
	}
	return body.Close()
}

// below visits the entries of a manifest or an index.
func (t *tree) below(ctx context.Context, d ocispec.Descriptor, depth int) (int, error) {
	doc, err := t.document(ctx, d)
	if err != nil {
		return 0, err
	}
	if doc.isIndex() != isIndexType(d.MediaType) {
		return 0, fmt.Errorf("%s is listed as %s but is %s: containerd rejects this image", d.Digest, d.MediaType, doc.mediaType)
	}
	count := 0
	for _, entry := range t.entries(doc) {
		n, err := t.visit(ctx, entry, depth)
		if err == nil && doc.isIndex() && !IsManifest(entry.MediaType) && !isIndexType(entry.MediaType) {
			err = t.available(ctx, entry)
		}
		if err != nil && doc.isIndex() {
			err = fmt.Errorf("%w (an entry of index %s%s)", err, d.Digest, forPlatform(entry.Platform))
		}
		if err != nil {
			return 0, err
		}
		if count += n; count > maxReferences {
			return 0, fmt.Errorf("the image refers to more than %d blobs, the limit of containerd", maxReferences)
		}
	}
	if doc.isIndex() {
		return count, nil
	}
	return count, t.config(ctx, doc)
}

// entries are the descriptors of a document that containerd fetches.
func (t *tree) entries(doc *Document) []ocispec.Descriptor {
	if !doc.isIndex() {
		return slices.Concat([]ocispec.Descriptor{doc.config}, doc.layers)
	}
	var all []ocispec.Descriptor
	for _, d := range doc.manifests {
		if d.Platform == nil || t.fetched.Match(*d.Platform) {
			all = append(all, d)
		}
	}
	return all
}

func (t *tree) document(ctx context.Context, d ocispec.Descriptor) (*Document, error) {
	doc, known := t.documents[d.Digest]
	if !known {
		if d.Size > fetch.MaxManifest {
			return nil, tooLargeFor("manifest", d.Digest, d.Size, fetch.MaxManifest)
		}
		var err error
		if doc, err = t.from.Document(ctx, d.Digest); err != nil {
			return nil, err
		}
		t.add(doc)
	}
	if size := int64(len(doc.Raw)); size != d.Size {
		return nil, fmt.Errorf("%s has %d bytes, but its entry has size %d: containerd rejects this image; report it to the publisher", d.Digest, size, d.Size)
	}
	return doc, t.keep(len(doc.Raw))
}

func (t *tree) add(doc *Document) {
	t.documents[doc.Digest] = doc
	t.order = append(t.order, doc)
}

func (t *tree) keep(bytes int) error {
	if t.kept += int64(bytes); t.kept > maxDocuments {
		return fmt.Errorf("the manifests and configurations have more than %d bytes in total", maxDocuments)
	}
	return nil
}

// fault returns an error if containerd or airgap's registry refuses the descriptor by its fields.
func fault(d ocispec.Descriptor) error {
	if err := d.Digest.Validate(); err != nil || d.Digest.Algorithm() != digest.SHA256 {
		return fmt.Errorf("the image lists a blob with digest %.80q: only sha256 is supported", d.Digest)
	}
	switch {
	case d.Size <= 0:
		return fmt.Errorf("%s is listed with %d bytes: containerd rejects this image; report it to the publisher", d.Digest, d.Size)
	case d.Size > MaxBlob:
		return tooLargeFor("blob", d.Digest, d.Size, MaxBlob)
	case int64(len(d.Data)) == d.Size && digest.FromBytes(d.Data) != d.Digest:
		return fmt.Errorf("%s is embedded in its manifest with other bytes: containerd rejects this image", d.Digest)
	}
	for _, at := range d.URLs {
		if u, err := url.Parse(at); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			return fmt.Errorf("%s (%s) is stored outside of the registry, at %s: containerd fetches it from there first, which fails without internet access; ask the publisher for an image without urls",
				d.Digest, d.MediaType, fetch.Presentable(at))
		}
	}
	return nil
}

func tooLargeFor(what string, d digest.Digest, size, limit int64) error {
	return fmt.Errorf("%s %s has %d bytes: the servers read at most %d; ask the publisher for a smaller one", what, d, size, limit)
}

func forPlatform(p *ocispec.Platform) string {
	if p == nil {
		return ", without a platform"
	}
	return ", for " + formatPlatform(*p)
}

// formatPlatform is at most 80 bytes, because the fields come from outside.
func formatPlatform(p ocispec.Platform) string { return fmt.Sprintf("%.80s", platforms.FormatAll(p)) }

// choose follows images.Manifest of containerd: only the best entry of each index counts. If it
// has no platform, the configuration must match.
func (t *tree) choose(doc *Document) (*Document, error) {
	for doc.isIndex() {
		entry, err := t.best(doc)
		if err != nil {
			return nil, err
		}
		below, known := t.documents[entry.Digest]
		switch {
		case entry.Platform != nil && !t.fetched.Match(*entry.Platform):
			return nil, fmt.Errorf("%w: containerd fetches none of them", t.notAvailable(doc))
		case !known || !IsManifest(entry.MediaType) && !isIndexType(entry.MediaType):
			return nil, fmt.Errorf("containerd uses the entry %s%s, but its media type %q is not a manifest or an index: refer to the image by the digest of its manifest", entry.Digest, forPlatform(entry.Platform), entry.MediaType)
		case entry.Platform == nil && !below.isIndex() && isConfigType(below.config.MediaType):
			if is := t.configs[below.config.Digest].platform(); !t.run.Match(is) {
				return nil, fmt.Errorf("%w: of several entries without a platform, containerd checks only the first, and %s is for %s; refer to the image by the digest of its manifest for %s",
					t.notAvailable(doc), entry.Digest, formatPlatform(is), formatPlatform(t.platform))
			}
		}
		doc = below
	}
	return doc, nil
}

// best returns the entry of an index that containerd uses.
func (t *tree) best(index *Document) (ocispec.Descriptor, error) {
	var fit []ocispec.Descriptor
	for _, d := range index.manifests {
		if d.Platform == nil || t.run.Match(*d.Platform) {
			fit = append(fit, d)
		}
	}
	if len(fit) == 0 {
		return ocispec.Descriptor{}, t.notAvailable(index)
	}
	sort.SliceStable(fit, func(i, j int) bool {
		switch {
		case fit[i].Platform == nil:
			return false
		case fit[j].Platform == nil:
			return true
		}
		return t.run.Less(*fit[i].Platform, *fit[j].Platform)
	})
	return fit[0], nil
}

// notAvailable lists the platforms that an index has.
func (t *tree) notAvailable(index *Document) error {
	var others []string
	for _, d := range index.manifests {
		switch {
		case d.Platform == nil:
			others = append(others, "an entry without a platform")
		case d.Platform.OS != "unknown" && d.Platform.Architecture != "unknown":
			others = append(others, formatPlatform(*d.Platform))
		}
	}
	if len(others) == 0 {
		return errors.New("the index lists no image for any platform")
	}
	return fmt.Errorf("not available for %s, only for %s", formatPlatform(t.platform), ui.And(shorten(others)))
}
