package registry

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
)

// Damage is a chunk of a bundle that a client wanted and that is not what was
// signed. The client had an error, never the bytes.
type Damage struct {
	Bundle string `json:"bundle"`
	Part   string `json:"part"`
	Chunk  int    `json:"chunk"` // number within the part, from 0
	Path   string `json:"path"`  // the file within the bundle that was read: a blob, an RPM

	offset int64 // within that file
}

func (d Damage) String() string {
	return fmt.Sprintf("%s of bundle %s: chunk %d of %s is damaged", d.Path, d.Bundle, d.Chunk, d.Part)
}

// damageBook remembers which chunks could not be given out.
type damageBook struct {
	mu    sync.Mutex
	known map[Damage]bool
}

// damageLimit is how many are remembered: a disk that lost everything needs no
// longer list.
const damageLimit = 100

func (b *damageBook) note(d Damage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[Damage]bool{}
	}
	if len(b.known) < damageLimit {
		b.known[d] = true
	}
}

// standing reads again what was damaged, and forgets what has been repaired.
func (b *damageBook) standing(files fs.FS) []Damage {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Damage
	for d := range b.known {
		if readable(files, d) {
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

func readable(files fs.FS, d Damage) bool {
	f, err := files.Open(d.Path)
	if err != nil {
		return false
	}
	defer f.Close()
	at, ok := f.(io.ReaderAt)
	if !ok {
		return false
	}
	_, err = at.ReadAt(make([]byte, 1), d.offset)
	return err == nil
}
