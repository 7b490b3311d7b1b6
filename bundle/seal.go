package bundle

import (
	"sync/atomic"

	"airgap.dev/airgap/bundle/blocktag"
)

// block is the number of bytes that are verified at a time in a chunk that was verified
// before: the read size of io.Copy.
const block = blocktag.Block

// seals make verification at every read cheap. When a chunk has its signed SHA-256,
// each block of it gets a tag under a random key. The key and the tags stay in the
// memory of this process, so a medium that returns other bytes later cannot know the
// bytes that fit a tag. The SHA-256 of a whole chunk for each block would take 32 times
// as long, and keeping the chunks would need their size in memory; the tags need 0.05 %
// of it.
type seals struct {
	key    *blocktag.Key
	chunks []atomic.Pointer[seal]
}

// seal has the tags of a chunk's blocks.
type seal [ChunkSize / block]blocktag.Tag

func newSeals(chunks int64) *seals {
	return &seals{key: blocktag.NewKey(), chunks: make([]atomic.Pointer[seal], chunks)}
}

// of returns nil for a chunk that was not verified yet.
func (s *seals) of(k int64) *seal { return s.chunks[k].Load() }

// put seals chunk k after its verification.
func (s *seals) put(k int64, chunk []byte) {
	made := new(seal)
	for i := 0; i*block < len(chunk); i++ {
		made[i] = s.key.Tag(chunk[i*block : min((i+1)*block, len(chunk))])
	}
	s.chunks[k].Store(made)
}

// fits reports whether piece is still block i of the sealed chunk.
func (s *seals) fits(made *seal, i int, piece []byte) bool { return s.key.Tag(piece) == made[i] }
