// Package imagedigest asks a registry for the digest of a reference. It falls back to the manifest itself: some
// registries and proxies answer HEAD with 405, without a digest or without a length.
package imagedigest

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Now returns the descriptor that the reference points to now. A reference that does not exist is a
// *transport.Error with status 404.
func Now(ctx context.Context, puller *remote.Puller, ref name.Reference) (*v1.Descriptor, error) {
	found, err := puller.Head(ctx, ref)
	if err == nil || ctx.Err() != nil || !unusable(err) {
		return found, err
	}
	whole, err := puller.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &whole.Descriptor, nil
}

// unusable reports whether GET can succeed where HEAD failed.
func unusable(err error) bool {
	var answer *transport.Error
	if !errors.As(err, &answer) {
		var failed *url.Error
		return !errors.As(err, &failed) // an answer without the headers of a manifest
	}
	switch answer.StatusCode {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusNotImplemented:
		return true
	}
	return false
}
