package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/ui"
)

// pushing is how many blobs, then how many images, are pushed at a time.
const pushing = 4

// Pushed is what became of one image.
type Pushed struct {
	Image  string `json:"image"`  // as the bundle calls it
	Target string `json:"target"` // where the registry has it now
	Digest string `json:"digest"` // what it has there
	Was    string `json:"was,omitempty"`
	// Platform says that the registry refused the index, of which the bundle has
	// one platform, and has that platform's manifest under the tag instead.
	Platform bool `json:"platform,omitempty"`
}

// Unchanged reports that the registry had the image already.
func (p Pushed) Unchanged() bool { return p.Was == p.Digest }

// Moved reports that the tag was another image's before.
func (p Pushed) Moved() bool { return p.Was != "" && p.Was != p.Digest }

// Push brings the images of a bundle into the registry, layers first and tags
// last, so that whoever pulls meanwhile gets an image whole or not at all. What is
// there is not sent again: an interrupted push goes on. Every byte is verified
// while it is read. Layers that a delta leaves out have to be there.
func (e Existing) Push(ctx context.Context, v *bundle.View, login authn.Authenticator, progress ui.Progress) ([]Pushed, error) {
	p, err := e.newPush(v, login)
	if err == nil {
		err = p.blobs(ctx, progress)
	}
	if err != nil {
		return nil, fmt.Errorf("push to %s: %w", e.Address, err)
	}
	pushed, err := p.manifests(ctx)
	if err != nil {
		err = fmt.Errorf("push to %s: %w", e.Address, err)
	}
	return pushed, err
}

type push struct {
	view    *bundle.View
	images  []bundle.Image
	targets []target // of the images
	pusher  *remote.Pusher
	puller  *remote.Puller
}

func (e Existing) newPush(v *bundle.View, login authn.Authenticator) (*push, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	rt, err := e.transport(http.ProxyFromEnvironment)
	if err != nil {
		return nil, err
	}
	auth := remote.WithAuthFromKeychain(authn.DefaultKeychain)
	if login != nil {
		auth = remote.WithAuth(login)
	}
	p := &push{view: v, images: v.Top().Index().Lock.Images}
	for _, image := range p.images {
		t, err := e.target(image)
		if err != nil {
			return nil, err
		}
		p.targets = append(p.targets, t)
	}
	// The library leaves out some types of layers that may not be redistributed: the bundle
	// has them, and the registry has to have what its manifests name.
	if p.pusher, err = remote.NewPusher(remote.WithTransport(rt), auth, remote.WithNondistributable); err != nil {
		return nil, err
	}
	p.puller, err = remote.NewPuller(remote.WithTransport(rt), auth)
	return p, err
}

// layer is a blob and the repositories that need it. It is sent to the first one
// and mounted from there into the others.
type layer struct {
	bundle.Blob

	repositories []name.Repository
}

// layers are everything but manifests, each blob once, the largest first: what
// takes longest should not begin last.
func (p *push) layers() []*layer {
	byDigest := map[string]*layer{}
	var all []*layer
	for i, image := range p.images {
		for _, b := range image.Blobs {
			if isManifest(b.MediaType) {
				continue
			}
			l, known := byDigest[b.Digest]
			if !known {
				l = &layer{Blob: b}
				byDigest[b.Digest] = l
				all = append(all, l)
			}
			if !slices.Contains(l.repositories, p.targets[i].repository) {
				l.repositories = append(l.repositories, p.targets[i].repository)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *layer) int { return cmp.Compare(b.Size, a.Size) })
	return all
}

func (p *push) blobs(ctx context.Context, progress ui.Progress) error {
	all := p.layers()
	var total int64
	for _, l := range all {
		total += l.Size
	}
	task := progress.Task("push", total, true)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(pushing)
	for _, l := range all {
		g.Go(func() error { return p.layer(ctx, l, task) })
	}
	err := g.Wait()
	task.End(err)
	return err
}

func (p *push) layer(ctx context.Context, l *layer, task ui.Task) error {
	if err := p.mountFrom(ctx, l); err != nil {
		return err
	}
	sent := &sentLayer{blob: l.Blob, from: p.view.FS(), task: task}
	for i, to := range l.repositories {
		var content v1.Layer = sent
		if i > 0 {
			content = &remote.MountableLayer{Layer: sent, Reference: l.repositories[0].Digest(l.Digest)}
		}
		if err := p.pusher.Upload(ctx, to, content); err != nil {
			return fmt.Errorf("%s@%s: %w", to, l.Digest, err)
		}
		if i == 0 {
			sent.task = nil // counted once
		}
	}
	task.Add(l.Size - sent.counted)
	return nil
}

// mountFrom puts a repository that has the layer first, where this bundle does not.
func (p *push) mountFrom(ctx context.Context, l *layer) error {
	if _, err := fs.Stat(p.view.FS(), bundle.BlobPath(l.Digest)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for i, r := range l.repositories {
		there, err := p.puller.Layer(ctx, r.Digest(l.Digest))
		if err != nil {
			return err
		}
		if has, err := partial.Exists(there); unlessMissing(err) != nil {
			return err
		} else if has {
			l.repositories[0], l.repositories[i] = l.repositories[i], l.repositories[0]
			return nil
		}
	}
	return nil
}

// manifests returns also what was pushed where something was not.
func (p *push) manifests(ctx context.Context) ([]Pushed, error) {
	all := make([]Pushed, len(p.images))
	failed := make([]error, len(p.images))
	var g errgroup.Group
	g.SetLimit(pushing)
	for i := range p.images {
		g.Go(func() error {
			all[i], failed[i] = p.image(ctx, p.images[i], p.targets[i])
			return nil
		})
	}
	_ = g.Wait() // each has its own error
	var done []Pushed
	for i, one := range all {
		if failed[i] == nil {
			done = append(done, one)
		}
	}
	return done, errors.Join(failed...)
}

func (p *push) image(ctx context.Context, image bundle.Image, to target) (Pushed, error) {
	result := Pushed{Image: image.Name, Target: to.String(), Digest: image.Digest}
	was, err := p.puller.Head(ctx, to.put())
	if err := unlessMissing(err); err != nil {
		return result, fmt.Errorf("ask for %s: %w", to, err)
	}
	if was != nil {
		result.Was = was.Digest.String()
	}
	put := p.below(ctx, image, to)
	if put == nil {
		put = p.top(ctx, image, to)
	}
	switch {
	case put == nil:
		return result, p.readBack(ctx, result, to)
	case wantsWhole(put) && image.Manifest() != image.Blobs[0]:
		return p.platform(ctx, result, to, image.Manifest(), put)
	}
	return result, fmt.Errorf("%s: %w", to, put)
}

// below puts what the top leads to: in a lock, children come before their parents.
func (p *push) below(ctx context.Context, image bundle.Image, to target) error {
	for _, b := range image.Blobs[1:] {
		if !isManifest(b.MediaType) {
			continue
		}
		m, err := p.manifest(b)
		if err == nil {
			err = p.pusher.Put(ctx, to.repository.Digest(b.Digest), m)
		}
		if err != nil {
			return fmt.Errorf("%s@%s: %w", to.repository, b.Digest, err)
		}
	}
	return nil
}

func (p *push) top(ctx context.Context, image bundle.Image, to target) error {
	m, err := p.manifest(image.Blobs[0])
	if err != nil {
		return err
	}
	return p.pusher.Put(ctx, to.put(), m)
}

// platform gives the tag to the one platform that the bundle has. A name by digest
// means the index and nothing else.
func (p *push) platform(ctx context.Context, result Pushed, to target, of bundle.Blob, refused error) (Pushed, error) {
	if to.digest != "" {
		return result, fmt.Errorf("%s@%s: the registry takes this index only with all its platforms, of which the bundle has one; name the image by a tag, or by the digest of the platform's manifest, %s: %w",
			to.repository, to.digest, of.Digest, refused)
	}
	m, err := p.manifest(of)
	if err != nil {
		return result, err
	}
	result.Platform, result.Digest = true, of.Digest
	if err := p.pusher.Put(ctx, to.put(), m); err != nil {
		return result, fmt.Errorf("%s: %w", to, err)
	}
	return result, p.readBack(ctx, result, to)
}

// readBack asks what the registry would give now.
func (p *push) readBack(ctx context.Context, result Pushed, to target) error {
	has, err := p.puller.Head(ctx, to.put())
	if err != nil {
		return fmt.Errorf("read back %s: %w", to, err)
	}
	if has.Digest.String() != result.Digest {
		return fmt.Errorf("read back %s: the registry has %s, sent was %s", to, has.Digest, result.Digest)
	}
	return nil
}

// wantsWhole: registries that look for every manifest of an index say so in
// different words, the engine and Harbor with MANIFEST_BLOB_UNKNOWN.
func wantsWhole(err error) bool {
	var answer *transport.Error
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.StatusCode {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
		return slices.ContainsFunc(answer.Errors, func(d transport.Diagnostic) bool {
			return slices.Contains([]transport.ErrorCode{transport.ManifestBlobUnknownErrorCode, transport.ManifestUnknownErrorCode, transport.ManifestInvalidErrorCode, transport.BlobUnknownErrorCode}, d.Code)
		})
	}
	return false
}

func (p *push) manifest(b bundle.Blob) (manifest, error) {
	raw, err := fs.ReadFile(p.view.FS(), bundle.BlobPath(b.Digest))
	return manifest{raw, b}, err
}

// manifest is what the library puts, byte for byte.
type manifest struct {
	raw  []byte
	blob bundle.Blob
}

func (m manifest) RawManifest() ([]byte, error)        { return m.raw, nil }
func (m manifest) MediaType() (types.MediaType, error) { return types.MediaType(m.blob.MediaType), nil }

// sentLayer is a blob of a bundle as the library wants a layer.
type sentLayer struct {
	blob    bundle.Blob
	from    fs.FS
	task    ui.Task // nil: nobody counts
	counted int64   // bytes that were read, each once
}

var errLeftOut = errors.New("this delta leaves it out, and the registry does not have it: push the bundle before it first")

func (l *sentLayer) Digest() (v1.Hash, error) { return v1.NewHash(l.blob.Digest) }
func (l *sentLayer) Size() (int64, error)     { return l.blob.Size, nil }
func (l *sentLayer) MediaType() (types.MediaType, error) {
	return types.MediaType(l.blob.MediaType), nil
}
func (l *sentLayer) DiffID() (v1.Hash, error)             { return v1.Hash{}, errors.ErrUnsupported }
func (l *sentLayer) Uncompressed() (io.ReadCloser, error) { return nil, errors.ErrUnsupported }

// Compressed is called again where the library tries again.
func (l *sentLayer) Compressed() (io.ReadCloser, error) {
	f, err := l.from.Open(bundle.BlobPath(l.blob.Digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errLeftOut
	}
	if err != nil {
		return nil, err
	}
	return &countedRead{ReadCloser: f, of: l}, nil
}

type countedRead struct {
	io.ReadCloser

	of *sentLayer
	at int64
}

func (r *countedRead) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.at += int64(n)
	if l := r.of; l.task != nil && r.at > l.counted {
		l.task.Add(r.at - l.counted)
		l.counted = r.at
	}
	return n, err
}
