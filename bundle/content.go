package bundle

import (
	"fmt"
	"io"
)

// Content is one file of a bundle, read in place. It needs no closing, and may
// be read by several goroutines.
type Content struct {
	entry  Entry
	chunks *chunks
}

// File finds a file by its path in the tar, as "files/x" or BlobPath(digest).
// The error is fs.ErrNotExist for errors.Is.
func (b *Bundle) File(path string) (*Content, error) { return b.files.open(path) }

// ReadAt is io.ReaderAt. A chunk that is not what was signed gives a
// *DamageError and no bytes of it.
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

// Size is in bytes.
func (f *Content) Size() int64 { return f.entry.Size }

// Entry is what the index says about the file.
func (f *Content) Entry() Entry { return f.entry }

// Reader reads the file from its start.
func (f *Content) Reader() *io.SectionReader { return io.NewSectionReader(f, 0, f.entry.Size) }
