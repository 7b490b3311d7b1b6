package redact

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/bits"
)

// window is the length in bytes of the pieces that are looked for: so much of a
// secret in a row, wherever in it, gives it away.
const window = 16

// index are all windows of the known secrets.
type index struct {
	windows map[uint64]struct{} // their hashes: of two texts in 10^19 they are the same
	// maybe has a bit for the first bytes of each window. Without the bit, no lookup
	// is necessary.
	maybe []uint64
}

const maybeBits = 22

func newIndex() *index {
	return &index{windows: map[uint64]struct{}{}, maybe: make([]uint64, 1<<maybeBits/64)}
}

func (x *index) add(text []byte) {
	for at := 0; at+window <= len(text); at++ {
		if plain(text[at : at+window]) {
			continue
		}
		x.windows[hash(text[at:])] = struct{}{}
		bit := slot(text[at:])
		x.maybe[bit/64] |= 1 << (bit % 64)
	}
}

// plain windows, such as of spaces or dashes, give nothing away, and are everywhere.
func plain(text []byte) bool {
	distinct := 0
	for i, c := range text {
		if bytes.IndexByte(text[:i], c) < 0 {
			distinct++
		}
	}
	return distinct < 5
}

// has reports whether text begins with a window of a secret.
func (x *index) has(text []byte) bool {
	bit := slot(text)
	if x.maybe[bit/64]&(1<<(bit%64)) == 0 {
		return false
	}
	_, is := x.windows[hash(text)]
	return is
}

// slot spreads the first four bytes (Knuth's multiplicative hash).
func slot(text []byte) uint32 {
	return binary.LittleEndian.Uint32(text) * 2654435761 >> (32 - maybeBits)
}

// hash mixes the bytes of a window by one long multiplication.
func hash(text []byte) uint64 {
	high, low := bits.Mul64(binary.LittleEndian.Uint64(text)^0x9e3779b97f4a7c15, binary.LittleEndian.Uint64(text[8:])^0xc2b2ae3d27d4eb4f)
	return high ^ low
}

// gate replaces the known secrets in a stream.
type gate struct {
	w     io.Writer
	index *index
	found func(Kind)

	kept   []byte // undecided bytes: less than a window
	secret int    // number of bytes at the beginning that belong to a secret
	inside bool   // the last output is the mark of a secret that continues
}

func (g *gate) Write(p []byte) (int, error) {
	if len(g.index.windows) == 0 {
		return g.w.Write(p)
	}
	g.kept = append(g.kept, p...)
	if err := g.decide(max(0, len(g.kept)-window+1)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// decide passes the first n bytes on.
func (g *gate) decide(n int) error {
	begin := 0 // start of the text that is no secret and was not written yet
	for at := range n {
		if at+window <= len(g.kept) && g.index.has(g.kept[at:]) {
			g.secret = at + window
		}
		if at >= g.secret {
			g.inside = false
			continue
		}
		if err := g.write(g.kept[begin:at]); err != nil {
			return err
		}
		begin = at + 1
		if g.inside {
			continue
		}
		g.inside = true
		g.found(Known)
		if _, err := io.WriteString(g.w, mark(Known)); err != nil {
			return err
		}
	}
	if err := g.write(g.kept[begin:n]); err != nil {
		return err
	}
	g.kept, g.secret = g.kept[:copy(g.kept, g.kept[n:])], max(0, g.secret-n)
	return nil
}

func (g *gate) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_, err := g.w.Write(p)
	return err
}

func (g *gate) Close() error { return g.decide(len(g.kept)) }
