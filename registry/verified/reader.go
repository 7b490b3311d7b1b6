package verified

import (
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"

	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/bundle/blocktag"
)

const block = blocktag.Block

// Reader reads one blob. If its tags are known, it returns no wrong byte. If not, a read from the start returns
// the last block only after the digest of all blocks matches, and a read at another place verifies the blob
// first.
type Reader struct {
	of   *Blobs
	file *os.File
	id   identity
	want digest.Digest

	hash hash.Hash      // of the blocks of made
	made []blocktag.Tag // of the blocks from the start
	tags []blocktag.Tag // of all blocks; nil: not known yet

	at    int64 // offset of the next read
	held  int64 // number of the block in piece, from 1; 0: none
	piece []byte
}

// Open opens a blob. Errors are those of Check.
func (b *Blobs) Open(name string, d digest.Digest) (*Reader, error) {
	f, id, err := b.open(name)
	if err != nil {
		return nil, err
	}
	r := &Reader{of: b, file: f, id: id, want: d, hash: d.Algorithm().Hash()}
	v, known := b.version(d, id)
	r.tags = v.tags
	switch {
	case !known:
		r.tags = nil
	case v.damaged:
		err = fmt.Errorf("%s: %w", f.Name(), ErrDamaged)
	}
	if err == nil && id.size == 0 {
		err = r.complete() // no later read finds that the file is too short
	}
	if err != nil {
		f.Close() // it was only read
		return nil, err
	}
	return r, nil
}

// blocks returns the number of blocks.
func (r *Reader) blocks() int64 { return (r.id.size + block - 1) / block }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if r.at >= r.id.size {
		return 0, io.EOF
	}
	i := r.at / block
	if r.held != i+1 {
		if err := r.load(i); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.piece[r.at-i*block:])
	r.at += int64(n)
	return n, nil
}

// load reads and verifies block i.
func (r *Reader) load(i int64) error {
	r.held = 0
	if r.piece == nil {
		r.piece = make([]byte, 0, block)
	}
	r.piece = r.piece[:min(block, r.id.size-i*block)]
	if _, err := r.file.ReadAt(r.piece, i*block); err != nil {
		return r.of.unreadable(r.want, err)
	}
	if r.tags == nil && i == int64(len(r.made)) {
		r.hash.Write(r.piece)
		r.made = append(r.made, r.of.key.Tag(r.piece))
		if i+1 < r.blocks() {
			r.held = i + 1
			return nil
		}
		if err := r.complete(); err != nil {
			return err
		}
	}
	if r.tags == nil {
		tags, err := r.of.verify(r.file, r.id, r.want)
		if err != nil {
			return err
		}
		r.tags = tags
	}
	if r.of.key.Tag(r.piece) != r.tags[i] {
		clear(r.piece)
		return r.of.damage(r.file, r.id, r.want)
	}
	r.held = i + 1
	return nil
}

// complete compares the digest after the last block.
func (r *Reader) complete() error {
	if r.tags != nil {
		return nil
	}
	if digest.NewDigest(r.want.Algorithm(), r.hash) != r.want {
		clear(r.piece)
		return r.of.damage(r.file, r.id, r.want)
	}
	r.tags = r.made
	r.of.record(r.want, version{file: r.id, tags: r.tags})
	return nil
}

// Seek implements io.Seeker.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.id.size
	}
	if offset < 0 {
		return 0, &fs.PathError{Op: "seek", Path: r.file.Name(), Err: fs.ErrInvalid}
	}
	r.at = offset
	return offset, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }
