package existing

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
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/imagedigest"
	"airgap.dev/airgap/internal/loginfile"
	"airgap.dev/airgap/internal/ui"
)

// parallelPushes is the number of blobs, and later of images, that are pushed at the same time.
const parallelPushes = 4

// Pushed is the result of the push of one image.
type Pushed struct {
	Image  string `json:"image"`  // its name in the bundle
	Target string `json:"target"` // its name in the registry
	Digest string `json:"digest"` // its digest in the registry
	Was    string `json:"was,omitempty"`
	// Platform is true if the registry refused the index, because the bundle has only one platform of
	// it. Then the tag is the manifest of that platform.
	Platform bool `json:"platform,omitempty"`
}

// Unchanged reports whether the registry already had the image.
func (p Pushed) Unchanged() bool { return p.Was == p.Digest }

// Moved reports whether the tag was another image before.
func (p Pushed) Moved() bool { return p.Was != "" && p.Was != p.Digest }

// Push pushes the images of a bundle to the registry, layers first and tags last, so that each image
// is pulled completely or not at all. It does not send content that the registry has, so it can
// continue an interrupted push. It verifies every byte. The registry must have the layers that a
// delta leaves out.
func (e Registry) Push(ctx context.Context, v *bundle.View, login authn.Authenticator, progress ui.Progress) ([]Pushed, error) {
	p, err := e.newPush(v, login, progress)
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

func (e Registry) newPush(v *bundle.View, login authn.Authenticator, progress ui.Progress) (*push, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	proxies, err := httpclient.EnvironmentProxies()
	if err != nil {
		return nil, err
	}
	rt, err := e.transport(proxies)
	if err != nil {
		return nil, err
	}
	rt = withoutHead{heedsPause{rt}}
	logins := &loginfile.Logins{Warn: func(text string) { progress.Say("warning: %s", text) }}
	auth := remote.WithAuthFromKeychain(logins)
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
	// Without this option the library skips layers that must not be redistributed. The bundle
	// has them, and the registry must have all layers of its manifests.
	if p.pusher, err = remote.NewPusher(remote.WithTransport(rt), auth, remote.WithNondistributable); err != nil {
		return nil, err
	}
	p.puller, err = remote.NewPuller(remote.WithTransport(rt), auth)
	return p, err
}

// layer is a blob and the repositories that need it. It is pushed to the first repository and
// mounted from there into the others.
type layer struct {
	bundle.Blob

	repositories []name.Repository
}

// layers returns all blobs except manifests, each once, the largest first, because the longest pushes
// should start first.
func (p *push) layers() []*layer {
	byDigest := map[string]*layer{}
	var all []*layer
	for i, image := range p.images {
		for _, b := range image.Blobs {
			if isManifest(b) {
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

func isManifest(b bundle.Blob) bool {
	t := types.MediaType(b.MediaType)
	return t.IsImage() || t.IsIndex()
}

func (p *push) blobs(ctx context.Context, progress ui.Progress) error {
	all := p.layers()
	var total int64
	for _, l := range all {
		total += l.Size
	}
	task := progress.Task("push", total, true)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelPushes)
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
			sent.task = nil // count the bytes once
		}
	}
	task.Add(l.Size - sent.counted)
	return nil
}

// mountFrom moves a repository that has the layer to the front, if this bundle does not contain the layer.
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

// manifests pushes the manifests. It returns the pushed images also if others failed.
func (p *push) manifests(ctx context.Context) ([]Pushed, error) {
	all := make([]Pushed, len(p.images))
	failed := make([]error, len(p.images))
	var g errgroup.Group
	g.SetLimit(parallelPushes)
	for i := range p.images {
		g.Go(func() error {
			all[i], failed[i] = p.image(ctx, p.images[i], p.targets[i])
			return nil
		})
	}
	_ = g.Wait() // failed has the errors
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
	was, err := imagedigest.Now(ctx, p.puller, to.put())
	if err := unlessMissing(err); err != nil {
		return result, fmt.Errorf("query %s: %w", to, err)
	}
	if was != nil {
		result.Was = was.Digest.String()
	}
	put := p.pushManifests(ctx, image, to)
	if put == nil {
		put = p.pushTop(ctx, image, to)
	}
	switch {
	case put == nil:
		return result, p.readBack(ctx, result, to)
	case needsAllPlatforms(put) && image.Manifest() != image.Blobs[0]:
		return p.platform(ctx, result, to, image.Manifest(), put)
	}
	return result, fmt.Errorf("%s: %w", to, put)
}

// pushManifests pushes the manifests below the top one. In a lock, children come before their parents.
func (p *push) pushManifests(ctx context.Context, image bundle.Image, to target) error {
	for _, b := range image.Blobs[1:] {
		if !isManifest(b) {
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

func (p *push) pushTop(ctx context.Context, image bundle.Image, to target) error {
	m, err := p.manifest(image.Blobs[0])
	if err != nil {
		return err
	}
	return p.pusher.Put(ctx, to.put(), m)
}

// platform pushes the only platform of the bundle under the tag. A digest can only mean the index.
func (p *push) platform(ctx context.Context, result Pushed, to target, only bundle.Blob, refused error) (Pushed, error) {
	if to.digest != "" {
		return result, fmt.Errorf("%s@%s: the registry accepts this index only with all its platforms, and the bundle has one; name the image by a tag, or by the digest of the platform's manifest, %s: %w",
			to.repository, to.digest, only.Digest, refused)
	}
	m, err := p.manifest(only)
	if err != nil {
		return result, err
	}
	result.Platform, result.Digest = true, only.Digest
	if err := p.pusher.Put(ctx, to.put(), m); err != nil {
		return result, fmt.Errorf("%s: %w", to, err)
	}
	return result, p.readBack(ctx, result, to)
}

// readBack checks that the registry now serves the pushed digest.
func (p *push) readBack(ctx context.Context, result Pushed, to target) error {
	has, err := imagedigest.Now(ctx, p.puller, to.put())
	if err != nil {
		return fmt.Errorf("read back %s: %w", to, err)
	}
	if has.Digest.String() != result.Digest {
		return fmt.Errorf("read back %s: the registry has %s, airgap sent %s", to, has.Digest, result.Digest)
	}
	return nil
}

// needsAllPlatforms recognizes registries that require every manifest of an index. They use different
// errors, for example MANIFEST_BLOB_UNKNOWN (distribution and Harbor).
func needsAllPlatforms(err error) bool {
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

// manifest implements remote.Taggable with the exact bytes of a manifest.
type manifest struct {
	raw  []byte
	blob bundle.Blob
}

func (m manifest) RawManifest() ([]byte, error)        { return m.raw, nil }
func (m manifest) MediaType() (types.MediaType, error) { return types.MediaType(m.blob.MediaType), nil }

// sentLayer implements v1.Layer with a blob of a bundle.
type sentLayer struct {
	blob    bundle.Blob
	from    fs.FS
	task    ui.Task // nil: do not count
	counted int64   // bytes that were read at least once
}

var errLeftOut = errors.New("this delta leaves it out, and the registry does not have it: push its base bundle first")

func (l *sentLayer) Digest() (v1.Hash, error) { return v1.NewHash(l.blob.Digest) }
func (l *sentLayer) Size() (int64, error)     { return l.blob.Size, nil }
func (l *sentLayer) MediaType() (types.MediaType, error) {
	return types.MediaType(l.blob.MediaType), nil
}
func (l *sentLayer) DiffID() (v1.Hash, error)             { return v1.Hash{}, errors.ErrUnsupported }
func (l *sentLayer) Uncompressed() (io.ReadCloser, error) { return nil, errors.ErrUnsupported }

// Compressed opens the blob. The library calls it again for a retry.
func (l *sentLayer) Compressed() (io.ReadCloser, error) {
	f, err := l.from.Open(bundle.BlobPath(l.blob.Digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errLeftOut
	}
	if err != nil {
		return nil, err
	}
	return &countedRead{ReadCloser: f, layer: l}, nil
}

type countedRead struct {
	io.ReadCloser

	layer *sentLayer
	at    int64
}

func (r *countedRead) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.at += int64(n)
	if l := r.layer; l.task != nil && r.at > l.counted {
		l.task.Add(r.at - l.counted)
		l.counted = r.at
	}
	return n, err
}
