// Package blocktag detects a changed block of bytes with a secret, faster than with a cryptographic hash.
package blocktag

import (
	"crypto/rand"
	"encoding/binary"
	"math/bits"
)

// Key is the secret of a universal hash over blocks of the same length. Two
// different blocks have the same tag for one key in 2^62, if the key and the tags are
// secret. A seal needs no more, and GMAC takes three times as long. The hash is NH with
// words of 64 bits, over pieces of 1 KiB and again over their sums ("UMAC: Fast and
// Secure Message Authentication", CRYPTO '99). NH adds up products of 128 bits; here
// both halves are added up separately, without the carry between them. So each of the
// two passes fails for one key in 2^63, not in 2^64: for two sums to be equal, the last
// product can have two values instead of one.
type Key struct {
	piece [pieceSize / 8]uint64
	whole [2 * Block / pieceSize]uint64
}

// Block is the largest block, in bytes.
const Block = 32 << 10

// pieceSize keeps the key small, so that it stays in the processor's cache. Bytes.
const pieceSize = 1 << 10

// Tag is the hash of a block.
type Tag struct{ hi, lo uint64 }

// NewKey returns a random key.
func NewKey() *Key {
	var random [8 * (pieceSize/8 + 2*Block/pieceSize)]byte
	rand.Read(random[:]) // never fails
	k := new(Key)
	for i := range k.piece {
		k.piece[i] = word(random[:], i)
	}
	for i := range k.whole {
		k.whole[i] = word(random[:], len(k.piece)+i)
	}
	return k
}

// Tag is the hash of at most a block. A short last piece counts as if zeros followed
// it, because compared blocks have the same length.
func (k *Key) Tag(p []byte) Tag {
	var sum Tag
	whole := k.whole[:]
	for ; len(p) >= pieceSize; p, whole = p[pieceSize:], whole[2:] {
		sum = sum.plus(nh(&k.piece, (*[pieceSize]byte)(p)).times(whole))
	}
	if len(p) > 0 {
		var padded [pieceSize]byte
		copy(padded[:], p)
		sum = sum.plus(nh(&k.piece, &padded).times(whole))
	}
	return sum
}

func (t Tag) times(key []uint64) (hi, lo uint64) { return bits.Mul64(t.hi+key[0], t.lo+key[1]) }

// nh adds up products of two words each, with a word of the key added to each word of
// the piece. Two alternating sums with separate variables keep the processor's
// multiplier busy.
func nh(key *[pieceSize / 8]uint64, piece *[pieceSize]byte) Tag {
	var evenHi, evenLo, oddHi, oddLo uint64
	for i := range pieceSize / 64 {
		k, m := (*[8]uint64)(key[8*i:8*i+8]), (*[64]byte)(piece[64*i:64*i+64])
		hi, lo := bits.Mul64(k[0]+word(m[:], 0), k[1]+word(m[:], 1))
		evenHi, evenLo = evenHi+hi, evenLo+lo
		hi, lo = bits.Mul64(k[2]+word(m[:], 2), k[3]+word(m[:], 3))
		oddHi, oddLo = oddHi+hi, oddLo+lo
		hi, lo = bits.Mul64(k[4]+word(m[:], 4), k[5]+word(m[:], 5))
		evenHi, evenLo = evenHi+hi, evenLo+lo
		hi, lo = bits.Mul64(k[6]+word(m[:], 6), k[7]+word(m[:], 7))
		oddHi, oddLo = oddHi+hi, oddLo+lo
	}
	return Tag{evenHi + oddHi, evenLo + oddLo}
}

// plus adds each half separately, modulo 2^64.
func (t Tag) plus(hi, lo uint64) Tag { return Tag{t.hi + hi, t.lo + lo} }

// word is the i-th word of 64 bits.
func word(p []byte, i int) uint64 { return binary.LittleEndian.Uint64(p[8*i : 8*i+8]) }
