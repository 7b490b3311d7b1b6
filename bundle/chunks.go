package bundle

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sort"
)

// chunks reads the tar stream from its parts and verifies every read: the first read of
// a chunk with its signed SHA-256, later reads with its seal.
type chunks struct {
	bundle string // bundle name, for errors
	parts  []openPart
	size   int64   // of the whole stream
	files  []Entry // to name the file of a damaged chunk
	seals  *seals
}

type openPart struct {
	Part
	number int
	start  int64 // offset in the stream
	file   ownFile
}

// chunk returns the signed SHA-256 of the chunk at offset from in the part.
func (p *openPart) chunk(from int64) []byte {
	i := from / ChunkSize
	return p.Chunks[i*sha256.Size : (i+1)*sha256.Size]
}

func newChunks(bundle string, parts []openPart, files []Entry) *chunks {
	last := parts[len(parts)-1]
	size := last.start + last.Size
	return &chunks{
		bundle: bundle,
		parts:  parts,
		size:   size,
		files:  files,
		seals:  newSeals(chunkCount(size)),
	}
}

// ReadAt is io.ReaderAt over the stream. For a damaged chunk it returns a *DamageError
// and no bytes.
func (c *chunks) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read bundle at %d: negative offset", off)
	}
	read := 0
	for read < len(p) {
		if off >= c.size {
			return read, io.EOF
		}
		n, err := c.readChunk(p[read:], off)
		read += n
		off += int64(n)
		if err != nil {
			return read, err
		}
	}
	return read, nil
}

// readChunk fills p with the rest of the chunk at off, or of its block.
func (c *chunks) readChunk(p []byte, off int64) (int, error) {
	k := off / ChunkSize
	_, _, size := c.locate(k)
	within := off - k*ChunkSize
	p = p[:min(int64(len(p)), size-within)]
	if s := c.seals.of(k); s != nil {
		return c.readBlock(s, k, within, p)
	}
	buf := firstReads.get()
	defer firstReads.put(buf)
	if err := c.load(k, buf[:size]); err != nil {
		return 0, err
	}
	c.seals.put(k, buf[:size])
	return copy(p, buf[within:size]), nil
}

// readBlock reads from the block at within of a sealed chunk. It reads a whole block
// directly into p.
func (c *chunks) readBlock(s *seal, k, within int64, p []byte) (int, error) {
	part, at, size := c.locate(k)
	i := within / block
	from := i * block
	n := min(block, size-from)
	whole := within == from && int64(len(p)) >= n
	piece := p
	if !whole {
		buf := blockMemory.Get().(*[block]byte)
		defer blockMemory.Put(buf)
		piece = buf[:]
	}
	piece = piece[:n]
	if _, err := part.file.ReadAt(piece, at+from); err != nil {
		return 0, c.readError(part, k, err)
	}
	if !c.seals.fits(s, int(i), piece) {
		clear(piece)
		return 0, c.damage(part, k, "the content changed after the verification")
	}
	if whole {
		return len(piece), nil
	}
	return copy(p, piece[within-from:]), nil
}

// hot is the number of bytes that are hashed while they are in the processor's cache. Two of
// them fit into 256 KiB, a small second-level cache. This makes verification a tenth faster
// than with whole chunks.
const hot = 64 << 10

// load reads chunk k of the stream into buf, which has the size of the chunk, and
// verifies it.
func (c *chunks) load(k int64, buf []byte) error { return c.check(k, buf) }

// verify is load without the content: it overwrites buf, so that the hashed bytes stay
// in the processor's cache.
func (c *chunks) verify(k int64, buf []byte) error { return c.check(k, buf[:hot]) }

// check verifies chunk k and reads len(buf) bytes at a time. For a part on another
// host, buf has the size of a chunk, so that each chunk is one request.
func (c *chunks) check(k int64, buf []byte) error {
	part, at, size := c.locate(k)
	h := sha256.New()
	for from := int64(0); from < size; from += int64(len(buf)) {
		piece := buf[:min(int64(len(buf)), size-from)]
		if _, err := part.file.ReadAt(piece, at+from); err != nil {
			return c.readError(part, k, err)
		}
		h.Write(piece)
	}
	if !bytes.Equal(h.Sum(nil), part.chunk(at)) {
		return c.damage(part, k, "SHA-256 does not match the signed value")
	}
	return nil
}

// locate returns the part of chunk k, its offset in the part, and its size.
func (c *chunks) locate(k int64) (part *openPart, from, size int64) {
	off := k * ChunkSize
	i := sort.Search(len(c.parts), func(i int) bool { return c.parts[i].start > off }) - 1
	part = &c.parts[i]
	from = off - part.start
	return part, from, min(ChunkSize, part.Size-from)
}

func (c *chunks) readError(part *openPart, k int64, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return c.damage(part, k, "the part is too short")
	}
	at := c.damage(part, k, "")
	return &ReadError{Bundle: at.Bundle, Part: at.Part, Chunk: at.Chunk, Path: at.Path, Err: err}
}

func (c *chunks) damage(part *openPart, k int64, cause string) *DamageError {
	off := k * ChunkSize
	e := &DamageError{Bundle: c.bundle, Part: part.Name, Chunk: int((off - part.start) / ChunkSize), Cause: cause}
	i := sort.Search(len(c.files), func(i int) bool { return c.files[i].Offset+c.files[i].Size > off })
	if i < len(c.files) && c.files[i].Offset < off+ChunkSize {
		e.Path = c.files[i].Path
	}
	return e
}
