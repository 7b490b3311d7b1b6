package bundle

import (
	"archive/tar"
	"bytes"
	"fmt"
	"time"
)

// layout is the plan of the tar stream: the place of each byte.
type layout struct {
	entries  []Entry // with offsets
	size     int64   // of the stream
	partSize int64
	pieces   []piece
	first    []int // index of the first piece of each entry
}

// piece is a run of bytes in one part: of the tar format, or of a file.
type piece struct {
	offset int64 // in the stream
	size   int64
	tar    []byte // header and padding; nil in a file
	entry  int    // -1 for a header or padding
}

// layOut places the files one after the other, in this order; see checkLayout.
func layOut(files []Entry, partSize int64) (*layout, error) {
	if err := checkLayout(files, partSize); err != nil {
		return nil, err
	}
	l := &layout{partSize: partSize}
	var padding []byte
	for i, f := range files {
		header, err := tarHeader(f)
		if err != nil {
			return nil, err
		}
		l.add(piece{tar: append(padding, header...), entry: -1})
		f.Offset = l.size
		l.entries = append(l.entries, f)
		l.first = append(l.first, len(l.pieces))
		l.add(piece{size: f.Size, entry: i})
		padding = make([]byte, -f.Size&(tarBlock-1))
	}
	l.add(piece{tar: append(padding, make([]byte, 2*tarBlock)...), entry: -1}) // the end of a tar
	return l, nil
}

// tarHeader is the header from archive/tar: 512 bytes, or more if the path or size
// needs extensions. It is the same in every run.
func tarHeader(f Entry) ([]byte, error) {
	var b bytes.Buffer
	err := tar.NewWriter(&b).WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: f.Path, Size: f.Size, Mode: 0o644, ModTime: time.Unix(0, 0),
	})
	if err != nil {
		return nil, fmt.Errorf("lay out %s: %w", f.Path, err)
	}
	return b.Bytes(), nil
}

// add appends a piece and splits it at the end of a part.
func (l *layout) add(p piece) {
	left := max(p.size, int64(len(p.tar)))
	for left > 0 {
		n := min(left, l.partSize-l.size%l.partSize)
		cut := piece{offset: l.size, size: n, entry: p.entry}
		if p.tar != nil {
			cut.tar, p.tar = p.tar[:n], p.tar[n:]
		}
		l.pieces = append(l.pieces, cut)
		l.size += n
		left -= n
	}
}

// piecesOf returns the range of the pieces of an entry, from inclusive, to exclusive.
// An empty file has none.
func (l *layout) piecesOf(entry int) (from, to int) {
	from = l.first[entry]
	to = from
	for to < len(l.pieces) && l.pieces[to].entry == entry {
		to++
	}
	return from, to
}

// parts returns the parts with name and size; the hashes are not known yet.
func (l *layout) parts() []Part {
	n := int((l.size-1)/l.partSize) + 1
	parts := make([]Part, n)
	for i := range parts {
		parts[i] = Part{Name: partName(i, n), Size: min(l.partSize, l.size-int64(i)*l.partSize)}
	}
	return parts
}
