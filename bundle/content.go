package bundle

import (
	"errors"
	"fmt"
	"io"
)

// Content is one file of a bundle, read in place. It needs no Close and is safe for
// concurrent use.
type Content struct {
	entry  Entry
	chunks *chunks
}

// File finds a file by its path in the tar, such as "files/x" or BlobPath(digest). A
// missing file is fs.ErrNotExist for errors.Is.
func (b *Bundle) File(path string) (*Content, error) { return b.files.open(path) }

// ReadAt is io.ReaderAt. For a damaged chunk it returns a *DamageError and no bytes of
// the chunk.
func (f *Content) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read %s at %d: negative offset", f.entry.Path, off)
	}
	if off >= f.entry.Size {
		return 0, io.EOF
	}
	short := int64(len(p)) > f.entry.Size-off
	if short {
		p = p[:f.entry.Size-off]
	}
	n, err := f.chunks.ReadAt(p, f.entry.Offset+off)
	if err == nil && short {
		err = io.EOF
	}
	return n, err
}

// Size is the size in bytes.
func (f *Content) Size() int64 { return f.entry.Size }

// Entry is the entry of the file in the index.
func (f *Content) Entry() Entry { return f.entry }

// Reader reads the file from its start, with the same verification as ReadAt.
func (f *Content) Reader() *Reader { return &Reader{Content: f} }

// Reader reads a file of a bundle in order; it is also an io.ReaderAt.
type Reader struct {
	*Content

	at int64
}

// Read stops at the end of a block if possible, so that each block is read and verified
// once.
func (r *Reader) Read(p []byte) (int, error) {
	end := r.entry.Offset + r.at + int64(len(p))
	if whole := int64(len(p)) - end%block; whole > 0 {
		p = p[:whole]
	}
	n, err := r.ReadAt(p, r.at)
	r.at += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// Seek implements io.Seeker.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.entry.Size
	}
	if offset < 0 {
		return 0, fmt.Errorf("seek in %s to %d: negative offset", r.entry.Path, offset)
	}
	r.at = offset
	return offset, nil
}
