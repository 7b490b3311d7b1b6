package registry

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// Damage is a chunk of a bundle that a client wanted and that is not what was
// signed. The client had an error, never the bytes.
type Damage struct {
	Bundle string `json:"bundle"`
	Part   string `json:"part"`
	Chunk  int    `json:"chunk"` // number within the part, from 0; -1 for a file as a whole
	Path   string `json:"path"`  // the file within the bundle that was read: a blob, an RPM
}

func (d Damage) String() string {
	if d.Chunk < 0 {
		return fmt.Sprintf("%s of bundle %s is not what was signed", d.Part, d.Bundle)
	}
	return fmt.Sprintf("%s of bundle %s: chunk %d of %s is damaged", d.Path, d.Bundle, d.Chunk, d.Part)
}

// damageBook remembers which chunks could not be given out.
type damageBook struct {
	mu    sync.Mutex
	known map[Damage]func() error // reads it again
}

// damageLimit is how many are remembered: a disk that lost everything needs no
// longer list.
const damageLimit = 100

func (b *damageBook) note(d Damage, again func() error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[Damage]func() error{}
	}
	if len(b.known) < damageLimit {
		b.known[d] = again
	}
}

// standing reads again what was damaged, and forgets what has been repaired.
func (b *damageBook) standing() []Damage {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Damage
	for d, again := range b.known {
		if again() == nil {
			delete(b.known, d)
			continue
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b Damage) int {
		return cmp.Or(cmp.Compare(a.Bundle, b.Bundle), cmp.Compare(a.Part, b.Part), cmp.Compare(a.Chunk, b.Chunk), cmp.Compare(a.Path, b.Path))
	})
	return list
}
