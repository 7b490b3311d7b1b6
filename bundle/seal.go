package bundle

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"
)

// block is how much is verified of a chunk that was verified before, bytes: what
// io.Copy asks for at a time.
const block = 32 << 10

// seals make it cheap to verify bytes at every read. When a chunk has its signed
// SHA-256, each block of it gets an authentication tag (GMAC) under a random key.
// Key and tags stay in the memory of this process. A medium that gives other bytes later
// cannot know which bytes fit a tag. SHA-256 of a whole
// chunk for each block that is read would take 32 times as long, and to keep the
// chunks themselves would take their size in memory; this takes 0.05 % of it.
type seals struct {
	key    cipher.AEAD // nil: not available; then each read takes the chunk's SHA-256
	kept   *seal       // of every verified chunk of a kept copy; nil: there are tags
	chunks []atomic.Pointer[seal]
}

// seal has the tags of a chunk's blocks.
type seal [ChunkSize / block][tagSize]byte

const tagSize = 16

func newSeals(chunks int64) *seals {
	s := &seals{chunks: make([]atomic.Pointer[seal], chunks)}
	secret := make([]byte, 16)
	rand.Read(secret) // never fails
	if c, err := aes.NewCipher(secret); err == nil {
		s.key, _ = cipher.NewGCM(c) // refused by GODEBUG=fips140=only
	}
	return s
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
	if s.key == nil {
		return
	}
	made := new(seal)
	for i := 0; i*block < len(chunk); i++ {
		piece := chunk[i*block : min((i+1)*block, len(chunk))]
		s.key.Seal(made[i][:0], nonce(k, i), nil, piece)
	}
	s.chunks[k].Store(made)
}

// fits reports whether piece is block i of chunk k as it was when it was sealed.
func (s *seals) fits(made *seal, k int64, i int, piece []byte) bool {
	_, err := s.key.Open(nil, nonce(k, i), made[i][:], piece)
	return err == nil
}

// nonce is different for each block: GMAC requires it.
func nonce(k int64, i int) []byte {
	n := make([]byte, 12)
	binary.BigEndian.PutUint64(n, uint64(k))
	binary.BigEndian.PutUint32(n[8:], uint32(i))
	return n
}
