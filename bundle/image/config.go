package image

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/containerd/platforms"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/ui"
)

// configuration is the configuration of an image, with the fields that containerd reads.
type configuration struct {
	raw     []byte
	layers  int              // number of diff_ids
	is      ocispec.Platform // as written
	unknown bool             // it names no architecture
}

// platform is the normalized platform; a missing operating system means Linux.
func (c configuration) platform() ocispec.Platform { return platforms.Normalize(c.is) }

// config reads the configuration of a manifest and verifies its digest and size.
func (t *tree) config(ctx context.Context, doc *Document) error {
	d := doc.config
	if _, known := t.configs[d.Digest]; known || !isConfigType(d.MediaType) {
		return nil
	}
	if d.Size > maxConfig {
		return tooLargeFor("configuration", d.Digest, d.Size, maxConfig)
	}
	raw, err := t.readConfig(ctx, d)
	if err != nil {
		return fmt.Errorf("read the image configuration: %w", err)
	}
	var read struct {
		ocispec.Platform

		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return fmt.Errorf("read the image configuration %s: %w", d.Digest, err)
	}
	t.configs[d.Digest] = configuration{raw, len(read.RootFS.DiffIDs), read.Platform, read.Architecture == ""}
	return t.keep(len(raw))
}

func (t *tree) readConfig(ctx context.Context, d ocispec.Descriptor) (raw []byte, err error) {
	err = httpclient.Again(ctx, fetch.IsWrong, func(ctx context.Context) error {
		body, err := t.from.Blob(ctx, d.Digest)
		if err != nil {
			return err
		}
		defer body.Close()
		raw, err = io.ReadAll(io.LimitReader(body, d.Size+1))
		switch {
		case err != nil:
			return err
		case int64(len(raw)) > d.Size:
			return wrongConfig("%s has more than the %d bytes in its manifest%s", d.Digest, d.Size, fetch.PageIn(raw))
		case int64(len(raw)) < d.Size:
			return wrongConfig("%s has %d bytes, but %d in its manifest%s", d.Digest, len(raw), d.Size, fetch.PageIn(raw))
		case digest.FromBytes(raw) != d.Digest:
			return wrongConfig("the content of %s has the digest %s%s", d.Digest, digest.FromBytes(raw), fetch.PageIn(raw))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return raw, nil
}

// configError is a configuration with other bytes than its digest's.
type configError struct{ text string }

func wrongConfig(format string, args ...any) error { return &configError{fmt.Sprintf(format, args...)} }

func (e *configError) Error() string { return e.text }

// Wrong is for fetch.IsWrong.
func (e *configError) Wrong() bool { return true }

// check refuses an image that containerd fetches but cannot run. It also adds the
// remarks.
func (t *tree) check(top, chosen *Document) error {
	if !isConfigType(chosen.config.MediaType) {
		return fmt.Errorf("not an image, but %s", artifact(chosen.config.MediaType, chosen.artifactType))
	}
	for _, doc := range t.order {
		c, read := t.configs[doc.config.Digest]
		if doc.isIndex() || !read {
			continue
		}
		if err := unpackable(doc, c, doc == chosen || t.fetched.Match(c.platform())); err != nil {
			return err
		}
	}
	c := t.configs[chosen.config.Digest]
	if is := c.platform(); top == chosen && !c.unknown && !t.run.Match(withoutVariant(is)) {
		return fmt.Errorf("the image is for %s only, want %s", formatPlatform(is), formatPlatform(t.platform))
	}
	t.remark(chosen, c)
	return nil
}

// withoutVariant drops the level of x86-64: containerd ignores it if the image has no index.
func withoutVariant(p ocispec.Platform) ocispec.Platform {
	if p.Architecture == "amd64" {
		p.Variant = ""
	}
	return p
}

// unpackable checks that the configuration and the manifest have the same number of
// layers. If containerd unpacks the image, it must also know the media types of the
// layers.
func unpackable(doc *Document, c configuration, unpacked bool) error {
	count := 0
	unknown := ""
	for _, l := range doc.layers {
		if !isLayerType(l.MediaType) {
			unknown = fmt.Sprintf(" (%s has type %.80q, which is not a layer type)", l.Digest, l.MediaType)
			continue
		}
		count++
		if why := layerFault(l.MediaType); unpacked && why != "" {
			return fmt.Errorf("layer %s has type %.80q: %s", l.Digest, l.MediaType, why)
		}
	}
	if count != c.layers && (unpacked || count > 0) {
		return fmt.Errorf("manifest %s has %d layers, but its configuration has %d%s: containerd rejects this image; report it to the publisher", doc.Digest, count, c.layers, unknown)
	}
	return nil
}

// remark reports the choice among several manifests, and unusual properties of the chosen one.
func (t *tree) remark(chosen *Document, c configuration) {
	say := func(format string, arguments ...any) {
		t.remarks = append(t.remarks, fmt.Sprintf(format, arguments...))
	}
	var others, same []string
	for _, doc := range t.order {
		for _, d := range doc.manifests {
			switch {
			case d.Platform == nil || !IsManifest(d.MediaType) || d.Digest == chosen.Digest:
			case t.fetched.Match(*d.Platform):
				same = append(same, d.Digest.String())
			case t.fetched.Match(withoutFeatures(*d.Platform)):
				others = append(others, formatPlatform(*d.Platform))
			}
		}
	}
	if len(others) > 0 {
		say("the bundle has the manifest that containerd uses on every x86-64 processor, without the manifests for %s", ui.And(shorten(others)))
	}
	if len(same) > 0 {
		say("the index has several manifests for %s: containerd runs %s but fetches all, so the bundle has all", formatPlatform(t.platform), chosen.Digest)
	}
	if is := c.platform(); !c.unknown && !t.fetched.Match(is) {
		say("the platform in its configuration is %s", formatPlatform(is))
	}
	if slices.ContainsFunc(chosen.layers, func(l ocispec.Descriptor) bool { return nonDistributable(l.MediaType) }) {
		say("some layers are marked as non-distributable; the bundle contains them, so check the licence")
	}
}

// withoutFeatures drops the properties that can differ between entries of one
// architecture.
func withoutFeatures(p ocispec.Platform) ocispec.Platform {
	p.OSFeatures = nil
	if p = platforms.Normalize(p); p.Architecture == "amd64" {
		p.Variant = ""
	}
	return p
}
