package bundle

import "sync/atomic"

// block is how much is verified of a chunk that was verified before, bytes: what
// io.Copy asks for at a time.
const block = 32 << 10

// seals make it cheap to verify bytes at every read. When a chunk has its signed
// SHA-256, each block of it gets a tag under a random key. Key and tags stay in the
// memory of this process, so a medium that gives other bytes later cannot know which
// bytes fit a tag. SHA-256 of a whole chunk for each block that is read would take 32
// times as long, and to keep the chunks themselves would take their size in memory; this
// takes 0.05 % of it.
type seals struct {
	key    *tagKey
	kept   *seal // of every verified chunk of a kept copy; nil: there are tags
	chunks []atomic.Pointer[seal]
}

// seal has the tags of a chunk's blocks.
type seal [ChunkSize / block]tag

func newSeals(chunks int64) *seals {
	return &seals{key: newTagKey(), chunks: make([]atomic.Pointer[seal], chunks)}
}

// keep has chunks believed that were verified.
func (s *seals) keep() { s.kept = new(seal) }

// of is nil for a chunk that was not verified yet.
func (s *seals) of(k int64) *seal { return s.chunks[k].Load() }

// put seals chunk k, whose bytes were verified.
func (s *seals) put(k int64, chunk []byte) {
	if s.kept != nil {
		s.chunks[k].Store(s.kept)
		return
	}
	made := new(seal)
	for i := 0; i*block < len(chunk); i++ {
		made[i] = s.key.tag(chunk[i*block : min((i+1)*block, len(chunk))])
	}
	s.chunks[k].Store(made)
}

// fits reports whether piece is block i of a chunk as it was when the chunk was sealed.
func (s *seals) fits(made *seal, i int, piece []byte) bool { return s.key.tag(piece) == made[i] }
