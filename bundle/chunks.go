package bundle

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sort"
)

// chunks reads the tar stream out of its parts and verifies what it reads, every
// time: the first read of a chunk takes its signed SHA-256, later ones its seal.
type chunks struct {
	bundle string // its name, for errors
	parts  []openPart
	size   int64   // of the whole stream
	files  []Entry // to say what a damaged chunk belongs to
	seals  *seals
}

type openPart struct {
	Part
	number int
	start  int64 // offset in the stream
	file   ownFile
}

// chunk is the signed SHA-256 of the chunk that begins at from in the part.
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

// ReadAt is io.ReaderAt over the stream. It returns a *DamageError, and never
// the bytes, where a chunk is not what was signed.
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

// readChunk fills p with what is left of the chunk at off, or of its block.
func (c *chunks) readChunk(p []byte, off int64) (int, error) {
	k := off / ChunkSize
	part, from, size := c.locate(k)
	within := off - k*ChunkSize
	p = p[:min(int64(len(p)), size-within)]
	switch s := c.seals.of(k); s {
	case nil:
	case c.seals.kept:
		n, err := part.file.ReadAt(p, from+within)
		return n, c.readError(part, k, err)
	default:
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

// readBlock reads from the block at within of a chunk that is sealed. A whole block is
// read into p at once.
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
		return 0, c.damage(part, k, "it is not what it was when it was verified")
	}
	if whole {
		return len(piece), nil
	}
	return copy(p, piece[within-from:]), nil
}

// hot is how much is hashed while the processor's own cache still has it, bytes:
// verifying takes a tenth less time than by whole chunks.
const hot = 256 << 10

// load reads chunk k of the stream into buf, which has its exact size, and
// verifies it.
func (c *chunks) load(k int64, buf []byte) error { return c.check(k, buf) }

// verify is load for those who do not want the bytes: what was hashed is written
// over while the processor's cache still has it.
func (c *chunks) verify(k int64, buf []byte) error { return c.check(k, buf[:hot]) }

// check verifies chunk k, reading as much at a time as buf holds: a part that lies
// on another host is asked for once a chunk.
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
		return c.damage(part, k, "SHA-256 is not the signed one")
	}
	return nil
}

// locate finds chunk k's part, its offset there, and its size.
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
		return c.damage(part, k, "the part ends before it")
	}
	return fmt.Errorf("read chunk %d of bundle: %w", k, err)
}

func (c *chunks) damage(part *openPart, k int64, cause string) error {
	off := k * ChunkSize
	e := &DamageError{Bundle: c.bundle, Part: part.Name, Chunk: int((off - part.start) / ChunkSize), Cause: cause}
	i := sort.Search(len(c.files), func(i int) bool { return c.files[i].Offset+c.files[i].Size > off })
	if i < len(c.files) && c.files[i].Offset < off+ChunkSize {
		e.Path = c.files[i].Path
	}
	return e
}
