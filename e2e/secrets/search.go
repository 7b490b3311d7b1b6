package secrets

import (
	"bytes"
	"io"
)

// Search finds any of many secrets in one pass with the algorithm of Wu and Manber. A
// table maps two bytes to the distance to the next position where a piece may end.
type Search struct {
	list   []Secret
	pieces []piece
	short  int // length of the shortest piece
	long   int // length of the longest piece
	shift  [1 << 16]uint8
	ends   map[uint16][]int // indexes of pieces, by the two bytes that end their first short bytes
}

type piece struct {
	text   []byte
	secret int
}

// NewSearch prepares a search for the secrets.
func NewSearch(list []Secret) *Search {
	s := &Search{list: list, short: 255, ends: map[uint16][]int{}}
	for i, secret := range list {
		for _, text := range secret.pieces {
			s.pieces = append(s.pieces, piece{text, i})
			s.short, s.long = min(s.short, len(text)), max(s.long, len(text))
		}
	}
	for i := range s.shift {
		s.shift[i] = uint8(s.short - 1)
	}
	for i, p := range s.pieces {
		for at := 1; at < s.short; at++ {
			pair := two(p.text, at)
			s.shift[pair] = min(s.shift[pair], uint8(s.short-1-at))
		}
		last := two(p.text, s.short-1)
		s.ends[last] = append(s.ends[last], i)
	}
	return s
}

// two returns the byte at a position and the previous one.
func two(text []byte, at int) uint16 { return uint16(text[at-1])<<8 | uint16(text[at]) }

// In returns the secrets in text, each once.
func (s *Search) In(text []byte) []Secret {
	found := map[int]bool{}
	s.look(text, found)
	return s.named(found)
}

func (s *Search) look(text []byte, found map[int]bool) {
	if len(s.pieces) == 0 {
		return
	}
	for at := s.short - 1; at < len(text); {
		pair := two(text, at)
		if ahead := s.shift[pair]; ahead > 0 {
			at += int(ahead)
			continue
		}
		begin := at - s.short + 1
		for _, i := range s.ends[pair] {
			if bytes.HasPrefix(text[begin:], s.pieces[i].text) {
				found[s.pieces[i].secret] = true
			}
		}
		at++
	}
}

func (s *Search) named(found map[int]bool) []Secret {
	var all []Secret
	for i, secret := range s.list {
		if found[i] {
			all = append(all, secret)
		}
	}
	return all
}

// InReader is In for the content of r, and also returns its size in bytes. It reads into
// buffer, which must be much larger than a secret.
func (s *Search) InReader(r io.Reader, buffer []byte) (all []Secret, size int64, err error) {
	found := map[int]bool{}
	kept := 0 // bytes of the last read that may be the beginning of a piece
	for {
		n, err := r.Read(buffer[kept:])
		size += int64(n)
		text := buffer[:kept+n]
		s.look(text, found)
		if err == io.EOF {
			return s.named(found), size, nil
		}
		if err != nil {
			return nil, size, err
		}
		kept = copy(buffer, text[max(0, len(text)-s.long):])
	}
}
