package bundle

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Hasten makes a client give up soon, for tests of what it gives up on.
func (c *Client) Hasten() {
	c.patience = patience{attempts: 3, pause: time.Millisecond, stall: 2 * time.Second}
}

// WithSpace pretends that the file system has this much room.
func (o Options) WithSpace(free, maxFile int64) Options {
	o.free = func(string) (space, error) { return space{free, maxFile}, nil }
	return o
}

// TreeOf plans an image whose pieces are in memory.
func TreeOf(blobs map[digest.Digest][]byte, top []byte) (Image, error) {
	doc, err := parseDocument(top)
	if err != nil {
		return Image{}, err
	}
	t := newImageTree(inMemory(blobs), ocispec.Platform{OS: "linux", Architecture: "amd64"})
	chosen, err := t.grow(context.Background(), doc)
	if err != nil {
		return Image{}, err
	}
	return Image{Digest: doc.digest.String(), Blobs: t.list(doc, chosen)}, nil
}

type inMemory map[digest.Digest][]byte

func (m inMemory) document(_ context.Context, d digest.Digest) (*document, error) {
	raw, has := m[d]
	if !has {
		return nil, fs.ErrNotExist
	}
	return parseDocument(raw)
}

func (m inMemory) blob(_ context.Context, d digest.Digest) (io.ReadCloser, error) {
	raw, has := m[d]
	if !has {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(raw)), nil
}
