package registry

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// Damage is a chunk of a bundle that does not match its signed hash. The client that requested it
// got an error, never the bytes.
type Damage struct {
	Bundle string `json:"bundle"`
	Part   string `json:"part"`
	Chunk  int    `json:"chunk"` // number within the part, from 0; -1: the whole file
	Path   string `json:"path"`  // the file within the bundle that a client read: a blob, an RPM
}

func (d Damage) String() string {
	if d.Chunk < 0 {
		return fmt.Sprintf("%s of bundle %s does not match its signed hash", d.Part, d.Bundle)
	}
	return fmt.Sprintf("%s of bundle %s: chunk %d of %s is damaged", d.Path, d.Bundle, d.Chunk, d.Part)
}

// damageLog lists the damaged chunks that clients requested.
type damageLog struct {
	mu    sync.Mutex
	known map[Damage]func() error // reads the chunk again
}

// damageLimit is the maximum length of the list. A disk that lost everything needs no longer list.
const damageLimit = 100

func (b *damageLog) note(d Damage, reread func() error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[Damage]func() error{}
	}
	if len(b.known) < damageLimit {
		b.known[d] = reread
	}
}

// current reads the damaged chunks again, removes the repaired ones, and returns the rest.
func (b *damageLog) current() []Damage {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Damage
	for d, reread := range b.known {
		if reread() == nil {
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
