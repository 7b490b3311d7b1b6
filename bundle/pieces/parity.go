package pieces

import (
	"context"
	"io"

	"github.com/klauspost/reedsolomon"
)

// Limits of a group of pieces with common parity: the code has at most 256 pieces in a group.
const (
	maxGroup  = 128
	maxParity = 64
	// parityBlock is read of each piece of a group at a time: 192 pieces take 48 MiB of memory.
	parityBlock = 256 << 10
)

// groups is the number of groups. Neighbouring pieces are in different groups, because a gate often loses neighbours.
func (m *manifest) groups() int { return (m.data() + maxGroup - 1) / maxGroup }

// members are the data pieces of group g.
func (m *manifest) members(g int) (all []int) {
	for n := g; n < m.data(); n += m.groups() {
		all = append(all, n)
	}
	return all
}

// parityPiece is the number of parity piece j of group g.
func (m *manifest) parityPiece(g, j int) int { return m.data() + g*m.Parity + j }

// parity writes the selected parity pieces. It reads the bundle a second time.
func (p *packer) parity(ctx context.Context, have map[int]bool) error {
	for g := range p.m.groups() {
		if err := p.parityFrom(ctx, g, 0, have, nil); err != nil {
			return err
		}
	}
	return nil
}

// parityFrom opens parity piece j of a group and those behind it, and then fills all of them together.
func (p *packer) parityFrom(ctx context.Context, g, j int, have map[int]bool, to []io.Writer) error {
	if j == p.m.Parity {
		for _, w := range to {
			if w != nil {
				return p.encode(ctx, g, to)
			}
		}
		return nil
	}
	n := p.m.parityPiece(g, j)
	if !p.chosen.has(n) || have[n] {
		return p.parityFrom(ctx, g, j+1, have, append(to, nil))
	}
	return p.write(ctx, n, func(w io.Writer) error { return p.parityFrom(ctx, g, j+1, have, append(to, w)) })
}

// encode computes the parity of a group; to has nil for pieces that are not needed.
func (p *packer) encode(ctx context.Context, g int, to []io.Writer) error {
	members := p.m.members(g)
	code, err := reedsolomon.New(len(members), p.m.Parity)
	if err != nil {
		return err
	}
	shards := newShards(len(members) + p.m.Parity)
	for off := int64(0); off < p.m.Payload; off += parityBlock {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		block := shards.cut(min(parityBlock, p.m.Payload-off))
		for i, n := range members {
			if err := p.m.readPadded(p.source, n, off, block[i]); err != nil {
				return err
			}
		}
		if err := code.Encode(block); err != nil {
			return err
		}
		for j, w := range to {
			if w == nil {
				continue
			}
			if _, err := w.Write(block[len(members)+j]); err != nil {
				return err
			}
			p.task.Add(int64(len(block[len(members)+j])))
		}
	}
	return nil
}

// readPadded fills buf from offset off of data piece n, with zeros behind its end.
func (m *manifest) readPadded(r io.ReaderAt, n int, off int64, buf []byte) error {
	from, size := m.span(n)
	there := max(0, min(int64(len(buf)), size-off))
	clear(buf[there:])
	if there == 0 {
		return nil
	}
	_, err := r.ReadAt(buf[:there], from+off)
	return err
}

type shards [][]byte

func newShards(count int) shards {
	all := make(shards, count)
	for i := range all {
		all[i] = make([]byte, parityBlock)
	}
	return all
}

// cut returns the shards with n bytes each.
func (s shards) cut(n int64) [][]byte {
	all := make([][]byte, len(s))
	for i := range s {
		all[i] = s[i][:n]
	}
	return all
}

// recover computes missing data pieces from parity pieces. It returns their numbers; the SHA-256 of the files is
// verified later.
func (u *unpacker) recover(ctx context.Context) (recovered []int, err error) {
	for g := range u.m.groups() {
		members, lost := u.m.members(g), 0
		for _, n := range members {
			if !u.have[n] {
				lost++
			}
		}
		there := 0
		for j := range u.m.Parity {
			if u.have[u.m.parityPiece(g, j)] {
				there++
			}
		}
		if lost == 0 || lost > there {
			continue
		}
		if err := u.recoverGroup(ctx, g, members); err != nil {
			return recovered, err
		}
		for _, n := range members {
			if !u.have[n] {
				recovered = append(recovered, n)
			}
		}
	}
	if len(recovered) == 0 {
		return nil, nil
	}
	if err := u.target.sync(); err != nil {
		return nil, err
	}
	for _, n := range recovered {
		if err := u.note(n); err != nil {
			return recovered, err
		}
	}
	return recovered, nil
}

func (u *unpacker) recoverGroup(ctx context.Context, g int, members []int) error {
	code, err := reedsolomon.New(len(members), u.m.Parity)
	if err != nil {
		return err
	}
	space := newShards(len(members) + u.m.Parity)
	for off := int64(0); off < u.m.Payload; off += parityBlock {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		block := space.cut(min(parityBlock, u.m.Payload-off))
		for i, n := range members {
			if !u.have[n] {
				block[i] = block[i][:0]
			} else if err := u.m.readPadded(u.target, n, off, block[i]); err != nil {
				return err
			}
		}
		for j := range u.m.Parity {
			if i, n := len(members)+j, u.m.parityPiece(g, j); !u.have[n] {
				block[i] = block[i][:0]
			} else if err := u.readParity(n, off, block[i]); err != nil {
				return err
			}
		}
		if err := code.ReconstructData(block); err != nil {
			return err
		}
		for i, n := range members {
			if err := u.putRecovered(n, off, block[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// putRecovered writes bytes of a data piece that was missing.
func (u *unpacker) putRecovered(n int, off int64, p []byte) error {
	from, size := u.m.span(n)
	if there := min(int64(len(p)), size-off); !u.have[n] && there > 0 {
		_, err := u.target.WriteAt(p[:there], from+off)
		return err
	}
	return nil
}
