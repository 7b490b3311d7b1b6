package blocktag

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"math/big"
	"testing"
)

// TestTag compares the tag with its definition in exact arithmetic.
func TestTag(t *testing.T) {
	k := NewKey()
	for _, size := range []int{1, 7, 512, pieceSize, pieceSize + 1, 3*pieceSize - 8, Block - 1, Block} {
		p := make([]byte, size)
		rand.Read(p)
		var sums []uint64
		for from := 0; from < size; from += pieceSize {
			var padded [pieceSize]byte
			copy(padded[:], p[from:])
			words := make([]uint64, pieceSize/8)
			for i := range words {
				words[i] = binary.LittleEndian.Uint64(padded[8*i:])
			}
			sums = append(sums, byDefinition(k.piece[:], words)...)
		}
		want := byDefinition(k.whole[:], sums)
		if got := k.Tag(p); got.hi != want[0] || got.lo != want[1] {
			t.Errorf("%d bytes: %x %x, want %x", size, got.hi, got.lo, want)
		}
	}
}

// byDefinition adds up the upper and lower halves of the products, each modulo 2^64.
func byDefinition(key, words []uint64) []uint64 {
	two64 := new(big.Int).Lsh(big.NewInt(1), 64)
	plus := func(i int) *big.Int {
		a, b := new(big.Int).SetUint64(key[i]), new(big.Int).SetUint64(words[i])
		return a.Add(a, b).Mod(a, two64)
	}
	upper, lower := new(big.Int), new(big.Int)
	for i := 0; i < len(words); i += 2 {
		hi, lo := new(big.Int).DivMod(new(big.Int).Mul(plus(i), plus(i+1)), two64, new(big.Int))
		upper.Mod(upper.Add(upper, hi), two64)
		lower.Mod(lower.Add(lower, lo), two64)
	}
	return []uint64{upper.Uint64(), lower.Uint64()}
}

// TestTagOfOtherBytes changes each byte of a block, and swaps pieces. An equal tag is a
// fault of the hash, because its chance is one in 2^62.
func TestTagOfOtherBytes(t *testing.T) {
	k, p := NewKey(), make([]byte, Block)
	rand.Read(p)
	want := k.Tag(p)
	for i := range p {
		p[i] ^= 1 << (i % 8)
		if k.Tag(p) == want {
			t.Fatalf("byte %d changed, the tag did not", i)
		}
		p[i] ^= 1 << (i % 8)
	}
	swapped := bytes.Join([][]byte{p[pieceSize : 2*pieceSize], p[:pieceSize], p[2*pieceSize:]}, nil)
	if k.Tag(swapped) == want {
		t.Error("two pieces were swapped, but the tag is the same")
	}
	if NewKey().Tag(p) == want {
		t.Error("another key has the same tag")
	}
}

func BenchmarkTag(b *testing.B) {
	k, p := NewKey(), make([]byte, Block)
	b.SetBytes(Block)
	for b.Loop() {
		k.Tag(p)
	}
}
