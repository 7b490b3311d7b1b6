package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// maxConfig bounds what an image's configuration takes in memory.
const maxConfig = 8 << 20

// resolved is an image with what was read on the way.
type resolved struct {
	image Image
	repo  name.Repository   // where its blobs are
	small map[string][]byte // manifests, by digest
	moved *Moved            // nil when the tag leads where the lock says
}

// resolve finds an image's digest, unless it is locked, and everything below it
// for one platform.
func (c *Client) resolve(ctx context.Context, fullName string, platform v1.Platform, locked string) (*resolved, error) {
	named, err := parseName(fullName)
	if err != nil {
		return nil, err
	}
	repo, err := c.repository(named.Name())
	if err != nil {
		return nil, err
	}
	r := &resolved{image: Image{Name: fullName}, repo: repo, small: map[string][]byte{}}
	ref := refIn(repo, named)
	if locked != "" {
		ref = repo.Digest(locked)
	}
	top, err := c.manifest(ctx, ref)
	if err != nil {
		return nil, err
	}
	if r.moved, err = c.moved(ctx, fullName, repo, named, locked); err != nil {
		return nil, err
	}
	r.image.Digest = top.Digest.String()
	r.keep(top)
	if !top.MediaType.IsIndex() {
		return r, c.addImage(ctx, r, top, &platform)
	}
	chosen, err := choose(top.Manifest, platform)
	if err != nil {
		return nil, err
	}
	held, err := c.manifest(ctx, repo.Digest(chosen.Digest.String()))
	if err != nil {
		return nil, err
	}
	r.keep(held)
	return r, c.addImage(ctx, r, held, nil)
}

// refIn is the reference within the mirror's repository; a digest wins over
// a tag.
func refIn(repo name.Repository, named reference.Named) name.Reference {
	if digested, ok := named.(reference.Digested); ok {
		return repo.Digest(digested.Digest().String())
	}
	return repo.Tag(named.(reference.Tagged).Tag())
}

func (c *Client) manifest(ctx context.Context, ref name.Reference) (*remote.Descriptor, error) {
	var got *remote.Descriptor
	err := c.retry(ctx, func() error {
		rt, err := c.transportFor(ctx, ref.Context())
		if err != nil {
			return explain(ref, err)
		}
		if got, err = remote.Get(ref, remote.WithContext(ctx), remote.WithTransport(rt)); err == nil && isHTML(got.Manifest) {
			return &pageError{url: ref.String(), mediaType: string(got.MediaType)}
		}
		return explain(ref, err)
	})
	return got, err
}

// explain puts what a registry's answer means before what it said.
func explain(ref name.Reference, err error) error {
	var answer *transport.Error
	var notJSON *json.SyntaxError
	if errors.As(err, &notJSON) && strings.Contains(notJSON.Error(), "'<'") { // of a token, or of a manifest
		return fmt.Errorf("%w (%w)", &pageError{url: ref.String(), mediaType: "HTML or XML"}, err)
	}
	if !errors.As(err, &answer) {
		return err
	}
	switch answer.StatusCode {
	case http.StatusNotFound:
		return fmt.Errorf("does not exist in %s: %w", ref.Context().RegistryStr(), err)
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%s wants credentials for it, or it does not exist: %w", ref.Context().RegistryStr(), err)
	default:
		return err
	}
}

func (r *resolved) keep(d *remote.Descriptor) {
	r.small[d.Digest.String()] = d.Manifest
	r.image.Blobs = append(r.image.Blobs, Blob{Digest: d.Digest.String(), Size: d.Size, MediaType: string(d.MediaType)})
}

// addImage notes the configuration and layers of a manifest; want is given
// where no index has said yet which platform the image is for.
func (c *Client) addImage(ctx context.Context, r *resolved, d *remote.Descriptor, want *v1.Platform) error {
	if !d.MediaType.IsImage() {
		return fmt.Errorf("media type %s is not supported", d.MediaType)
	}
	manifest, err := v1.ParseManifest(strings.NewReader(string(d.Manifest)))
	if err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	if want != nil && manifest.Config.MediaType.IsConfig() {
		if err := c.checkPlatform(ctx, r, manifest.Config, *want); err != nil {
			return err
		}
	}
	for _, part := range append([]v1.Descriptor{manifest.Config}, manifest.Layers...) {
		if part.MediaType == types.DockerForeignLayer || !part.MediaType.IsDistributable() {
			return fmt.Errorf("layer %s may not be redistributed (%s): not supported", part.Digest, part.MediaType)
		}
		if part.Digest.Algorithm != "sha256" || part.Size < 0 {
			return fmt.Errorf("blob %s of %d bytes: only sha256 is supported", part.Digest, part.Size)
		}
		blob := Blob{Digest: part.Digest.String(), Size: part.Size, MediaType: string(part.MediaType)}
		if !slices.Contains(r.image.Blobs, blob) { // an empty layer may be there several times
			r.image.Blobs = append(r.image.Blobs, blob)
		}
	}
	return nil
}

func (c *Client) checkPlatform(ctx context.Context, r *resolved, config v1.Descriptor, want v1.Platform) error {
	body, err := c.openBlob(ctx, r.repo, config.Digest.String())
	if err != nil {
		return fmt.Errorf("read image configuration: %w", err)
	}
	defer body.Close()
	file, err := v1.ParseConfigFile(io.LimitReader(body, maxConfig))
	if err != nil {
		return fmt.Errorf("read image configuration: %w", err)
	}
	if file.OS != want.OS || file.Architecture != want.Architecture {
		return fmt.Errorf("is for %s/%s only, want %s", file.OS, file.Architecture, want)
	}
	return nil
}

// choose picks the manifest of a platform from an index; one that names no
// variant wins, as it runs everywhere.
func choose(index []byte, want v1.Platform) (v1.Descriptor, error) {
	parsed, err := v1.ParseIndexManifest(strings.NewReader(string(index)))
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("read index: %w", err)
	}
	var found *v1.Descriptor
	var others []string
	for i, d := range parsed.Manifests {
		if d.Platform == nil || !d.MediaType.IsImage() {
			continue
		}
		if !d.Platform.Satisfies(want) {
			others = append(others, d.Platform.String())
			continue
		}
		if found == nil || found.Platform.Variant != "" && d.Platform.Variant == "" {
			found = &parsed.Manifests[i]
		}
	}
	if found == nil {
		others = slices.DeleteFunc(others, func(p string) bool { return strings.HasPrefix(p, "unknown") })
		return v1.Descriptor{}, fmt.Errorf("is not there for %s, only for %s", want, strings.Join(others, ", "))
	}
	return *found, nil
}
