package bundle

import "sync"

// mostBuffers is how many chunks this process holds in memory at a time: enough to keep
// every processor and disk busy. More readers than that wait for a moment, so that many
// slow clients of a registry cost no more memory than a few fast ones.
const mostBuffers = 16

// lender lends memory for whole chunks. Who holds one must not ask for another.
type lender struct {
	lent chan struct{}
	pool sync.Pool // of *[ChunkSize]byte
}

var buffers = &lender{ //nolint:gochecknoglobals // memory is the process's
	lent: make(chan struct{}, mostBuffers),
	pool: sync.Pool{New: func() any { return new([ChunkSize]byte) }},
}

func (l *lender) get() *[ChunkSize]byte {
	l.lent <- struct{}{}
	return l.pool.Get().(*[ChunkSize]byte)
}

func (l *lender) put(buf *[ChunkSize]byte) {
	l.pool.Put(buf)
	<-l.lent
}

// blocks lends memory for blocks of a chunk.
var blocks = sync.Pool{New: func() any { return new([block]byte) }} //nolint:gochecknoglobals // as buffers
