package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/distribution/distribution/v3/manifest/manifestlist"
	"github.com/distribution/distribution/v3/manifest/schema2"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/imagedigest"
)

// MaxManifest is the largest manifest or index in bytes. airgap's registry serves 4 MiB
// (maxBlobGetSize in distribution's registry/storage/io.go), CRI-O reads the same,
// containerd a little more (MaxManifestSize in its docker resolver).
const MaxManifest = 4 << 20

// Manifest reads a manifest or an index from the registry. It verifies the digest if
// ref has one.
func (c *Client) Manifest(ctx context.Context, ref name.Reference) ([]byte, error) {
	var raw []byte
	err := httpclient.Again(ctx, IsWrong, func(ctx context.Context) error {
		err := c.retry(ctx, func(ctx context.Context) error {
			var err error
			raw, err = c.getManifest(ctx, ref)
			return err
		})
		if err != nil {
			return c.Explain(ctx, ref, err)
		}
		if by, fixed := ref.(name.Digest); fixed && digest.FromBytes(raw) != digest.Digest(by.DigestStr()) {
			return &wrongManifest{ref.Context().RegistryStr(), by.DigestStr(), raw}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return raw, nil
}

// wrongManifest is a manifest with another digest than the requested one.
type wrongManifest struct {
	host, digest string
	raw          []byte
}

func (e *wrongManifest) Error() string {
	return fmt.Sprintf("%s returned wrong content for %s: its digest is %s%s", e.host, e.digest, digest.FromBytes(e.raw), PageIn(e.raw))
}

// Wrong reports that the received bytes cannot be used.
func (e *wrongManifest) Wrong() bool { return true }

// IsWrong reports whether an error is about received bytes. Another request may get the right ones.
func IsWrong(err error) bool {
	wrong, is := errors.AsType[interface {
		error
		Wrong() bool
	}](err)
	return is && wrong.Wrong()
}

func (c *Client) getManifest(ctx context.Context, ref name.Reference) ([]byte, error) {
	rt, err := c.transportFor(ctx, ref.Context())
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, max(manifestTime, c.answerTime().after), errStalled)
	defer cancel()
	waiting, stop := context.WithCancelCause(limited)
	defer stop(nil)
	alarm := time.AfterFunc(c.answerTime().after, func() { stop(c.answerTime()) })
	defer alarm.Stop()
	request, err := http.NewRequestWithContext(waiting, http.MethodGet, registryURL(ref.Context(), "manifests", ref.Identifier()), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", strings.Join(acceptedManifests(), ","))
	if httpclient.IsFresh(ctx) {
		request.Header.Set("Cache-Control", "no-cache")
	}
	response, err := httpclient.New(rt).Do(request)
	if silent, is := context.Cause(waiting).(*silentError); is && err != nil { //nolint:errorlint // its own cause
		return nil, silent
	}
	if err != nil {
		return nil, presentableError(err)
	}
	alarm.Stop()
	defer response.Body.Close()
	if err := transport.CheckError(response, http.StatusOK); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, MaxManifest+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > MaxManifest:
		return nil, &oversizedError{namedDigest(ref, response), response.ContentLength}
	case isWebPage(response.Header.Get("Content-Type"), raw):
		return nil, newWebPage(raw)
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

// oversizedError refuses a manifest above MaxManifest.
type oversizedError struct {
	digest string // with a leading space; may be empty
	size   int64  // -1: unknown
}

func (e *oversizedError) Error() string {
	size := fmt.Sprintf("more than %d bytes", MaxManifest)
	if e.size > MaxManifest {
		size = fmt.Sprintf("%d bytes", e.size)
	}
	return fmt.Sprintf("manifest%s has %s: the servers read at most %d; ask the publisher for a smaller one", e.digest, size, MaxManifest)
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

// Head returns the digest that a reference points to now; "" if the registry does not
// have it.
func (c *Client) Head(ctx context.Context, ref name.Reference) (string, error) {
	now := ""
	err := c.retry(ctx, func(ctx context.Context) error {
		rt, err := c.transportFor(ctx, ref.Context())
		if err != nil {
			return err
		}
		puller, err := remote.NewPuller(remote.WithTransport(rt))
		if err != nil {
			return err
		}
		return c.answering(ctx, func(ctx context.Context) error {
			found, err := imagedigest.Now(ctx, puller, ref)
			if err == nil {
				now = found.Digest.String()
			}
			return err
		})
	})
	if err != nil && !notFound(err) {
		return "", c.Explain(ctx, ref, err)
	}
	return now, nil
}
