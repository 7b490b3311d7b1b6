package damage

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Log lists the damaged chunks and blobs that clients requested, each once. It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	known map[place]found
	again chan struct{} // closed when the current re-read is complete; nil: none runs
}

// place identifies a chunk or a blob, for any file that a client read.
type place struct {
	bundle, part string
	chunk        int
	blob         string
}

type found struct {
	Fault

	reread func() error
}

const (
	// most is the maximum length of the list. A disk that lost everything needs no longer list.
	most = 100
	// rereadTime limits the wait for a disk that needs long for each error.
	rereadTime = 2 * time.Second
)

// Note adds an entry. reread reads the content again; it returns nil after a repair.
func (b *Log) Note(d Fault, reread func() error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[place]found{}
	}
	at := place{d.Bundle, d.Part, d.Chunk, d.Blob}
	_, listed := b.known[at]
	if listed && d.File != "" {
		return // one entry for the reads of a disk, and one for its writes: a broken one fails with every file
	}
	if listed || len(b.known) < most {
		b.known[at] = found{d, reread}
	}
}

// Current reads the damaged content again, removes the repaired entries, and returns the rest. After rereadTime, it
// includes those that are not read yet.
func (b *Log) Current() []Fault {
	wait := time.NewTimer(rereadTime)
	defer wait.Stop()
	select {
	case <-b.startReread():
	case <-wait.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Fault
	for _, f := range b.known {
		list = append(list, f.Fault)
	}
	slices.SortFunc(list, func(a, b Fault) int {
		return cmp.Or(strings.Compare(a.Bundle, b.Bundle), strings.Compare(a.Part, b.Part),
			cmp.Compare(a.Chunk, b.Chunk), strings.Compare(a.Blob, b.Blob))
	})
	return list
}

// startReread reads all entries again, unless this is in progress. The channel is closed at the end. A read of a file
// has no context: the end of the process ends it.
func (b *Log) startReread() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.again != nil {
		return b.again
	}
	done := make(chan struct{})
	if len(b.known) == 0 {
		close(done)
		return done
	}
	b.again = done
	go b.reread(maps.Clone(b.known), done)
	return done
}

func (b *Log) reread(all map[place]found, done chan struct{}) {
	defer close(done)
	for at, f := range all {
		if f.reread() != nil {
			continue
		}
		b.mu.Lock()
		delete(b.known, at)
		b.mu.Unlock()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.again = nil
}
