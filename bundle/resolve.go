package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/distribution/distribution/v3/manifest/manifestlist"
	"github.com/distribution/distribution/v3/manifest/schema2"
	"github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/internal/httpclient"
)

// resolved is an image with the documents that were read to resolve it.
type resolved struct {
	image   Image
	from    repositorySource
	small   map[string][]byte // manifests, by digest
	configs map[string][]byte // configurations, by digest
	remarks []string
	moved   *Moved // nil when the tag leads where the lock says
}

// resolve finds an image's digest, unless it is locked, and every blob that a server of the
// platform fetches.
func (c *Client) resolve(ctx context.Context, fullName string, platform ocispec.Platform, locked string) (*resolved, error) {
	named, err := parseName(fullName)
	if err != nil {
		return nil, err
	}
	repo, err := c.repository(named.Name())
	if err != nil {
		return nil, err
	}
	ref := refIn(repo, named)
	if locked != "" {
		ref = repo.Digest(locked)
	}
	top, err := c.manifest(ctx, ref)
	if err != nil {
		return nil, err
	}
	r := &resolved{image: Image{Name: fullName, Digest: top.digest.String()}, from: repositorySource{c, repo}, small: map[string][]byte{}, configs: map[string][]byte{}}
	if r.moved, err = c.moved(ctx, fullName, repo, named, locked); err != nil {
		return nil, err
	}
	t := newImageTree(r.from, platform)
	chosen, err := t.grow(ctx, top)
	if err != nil {
		return nil, err
	}
	r.image.Blobs, r.remarks = t.list(top, chosen), t.remarks
	for d, doc := range t.documents {
		r.small[d.String()] = doc.raw
	}
	for d, config := range t.configs {
		r.configs[d.String()] = config.raw
	}
	return r, nil
}

// origin opens a blob for the bundle.
func (r *resolved) origin(d string) origin {
	if config, known := r.configs[d]; known {
		return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(config)), nil }
	}
	return func(ctx context.Context) (io.ReadCloser, error) { return r.from.blob(ctx, digest.Digest(d)) }
}

// repositorySource is an image in a repository of a registry.
type repositorySource struct {
	client *Client
	repo   name.Repository
}

func (s repositorySource) document(ctx context.Context, d digest.Digest) (*document, error) {
	return s.client.manifest(ctx, s.repo.Digest(d.String()))
}

// blob falls back to the manifest of this digest: containerd fetches a manifest as a blob if its
// entry has an unknown media type.
func (s repositorySource) blob(ctx context.Context, d digest.Digest) (io.ReadCloser, error) {
	ref := s.repo.Digest(d.String())
	body, err := s.client.openBlob(ctx, s.repo, d.String())
	if err == nil {
		return body, nil
	}
	err = s.client.explain(ctx, ref, err)
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	raw, other := s.client.rawManifest(ctx, ref)
	if other != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(raw)), nil
}

// refIn is the reference within the mirror's repository; a digest wins over
// a tag.
func refIn(repo name.Repository, named reference.Named) name.Reference {
	if digested, ok := named.(reference.Digested); ok {
		return repo.Digest(digested.Digest().String())
	}
	return repo.Tag(named.(reference.Tagged).Tag())
}

// manifest reads a manifest or an index of a registry; see parseDocument.
func (c *Client) manifest(ctx context.Context, ref name.Reference) (*document, error) {
	raw, err := c.rawManifest(ctx, ref)
	if err != nil {
		return nil, err
	}
	return parseDocument(raw)
}

// rawManifest verifies the digest if ref names one.
func (c *Client) rawManifest(ctx context.Context, ref name.Reference) ([]byte, error) {
	var raw []byte
	err := c.retry(ctx, func() error {
		var err error
		raw, err = c.getManifest(ctx, ref)
		return err
	})
	if err != nil {
		return nil, c.explain(ctx, ref, err)
	}
	if by, fixed := ref.(name.Digest); fixed && digest.FromBytes(raw) != digest.Digest(by.DigestStr()) {
		return nil, fmt.Errorf("%s gives other bytes than those of %s: they have the digest %s%s", ref.Context().RegistryStr(), by.DigestStr(), digest.FromBytes(raw), pageIn(raw))
	}
	return raw, nil
}

func (c *Client) getManifest(ctx context.Context, ref name.Reference) ([]byte, error) {
	rt, err := c.transportFor(ctx, ref.Context())
	if err != nil {
		return nil, err
	}
	repo := ref.Context()
	url := fmt.Sprintf("%s://%s/v2/%s/manifests/%s", repo.Scheme(), repo.RegistryStr(), repo.RepositoryStr(), ref.Identifier())
	ctx, cancel := context.WithTimeoutCause(ctx, manifestTime, errStalled)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", strings.Join(acceptedManifests(), ","))
	response, err := httpclient.New(rt).Do(request)
	if err != nil {
		return nil, presentableError(err)
	}
	defer response.Body.Close()
	if err := transport.CheckError(response, http.StatusOK); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxManifest+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > maxManifest:
		return nil, &oversizedError{namedDigest(ref, response), response.ContentLength}
	case isWebPage(response.Header.Get("Content-Type"), raw):
		return nil, &webPage{raw}
	}
	return raw, nil
}

// manifestTime is the time limit for one manifest.
const manifestTime = 5 * time.Minute

// acceptedManifests includes Docker schema 1, so that the error can name it.
func acceptedManifests() []string {
	return []string{
		ocispec.MediaTypeImageIndex, ocispec.MediaTypeImageManifest, manifestlist.MediaTypeManifestList, schema2.MediaTypeManifest,
		"application/vnd.docker.distribution.manifest.v1+prettyjws", "application/vnd.docker.distribution.manifest.v1+json", "*/*;q=0.1",
	}
}

// oversizedError refuses a manifest above maxManifest.
type oversizedError struct {
	digest string // with a space before it; may be empty
	size   int64  // -1: unknown
}

func (e *oversizedError) Error() string {
	size := fmt.Sprintf("more than %d bytes", maxManifest)
	if e.size > maxManifest {
		size = fmt.Sprintf("%d bytes", e.size)
	}
	return fmt.Sprintf("its manifest%s has %s: the servers read at most %d; ask its publisher for a smaller one", e.digest, size, maxManifest)
}

func namedDigest(ref name.Reference, response *http.Response) string {
	named := digest.Digest(response.Header.Get("Docker-Content-Digest"))
	if by, fixed := ref.(name.Digest); fixed {
		named = digest.Digest(by.DigestStr())
	}
	if named.Validate() != nil {
		return ""
	}
	return " " + named.String()
}
