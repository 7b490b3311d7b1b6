package registry

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// blob is the location of content in the bundles, or the content itself.
type blob struct {
	content []byte // not from a bundle; nil: the content is in a bundle

	fsys  fs.FS
	path  string
	size  int64
	added time.Time
}

// opener opens a blob. Each read verifies its bytes.
type opener func() (io.ReadSeekCloser, error)

// open returns a reader that verifies the blob chunk by chunk.
func (b blob) open() (io.ReadSeekCloser, error) {
	if b.content != nil {
		return inMemory(b.content), nil
	}
	f, err := b.fsys.Open(b.path)
	if err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	seeker, ok := f.(io.ReadSeekCloser)
	if !ok {
		return nil, fmt.Errorf("open blob: %w", &fs.PathError{Op: "seek", Path: b.path, Err: fs.ErrInvalid})
	}
	return seeker, nil
}

func inMemory(content []byte) io.ReadSeekCloser {
	return struct {
		io.ReadSeeker
		io.Closer
	}{bytes.NewReader(content), io.NopCloser(nil)}
}
