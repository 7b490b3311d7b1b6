package bundle

import "sync"

// Memory for a chunk, and for a block of one. It is the process's: a registry serves several
// bundles.
var (
	chunkMemory = sync.Pool{New: func() any { return new([ChunkSize]byte) }} //nolint:gochecknoglobals // see above
	blockMemory = sync.Pool{New: func() any { return new([block]byte) }}     //nolint:gochecknoglobals // see above
)

// mostFirstReads is how many chunks are read for the first time at once, by those who read
// through ReadAt: enough to keep processors and disk busy. The others wait for a moment, so
// many slow clients of a registry take no more memory than a few fast ones. Copying and
// verifying a bundle have as many workers as there are processors, and need no such limit.
const mostFirstReads = 16

// limited lends memory for a few chunks at a time. A holder must not ask for more.
type limited struct{ lent chan struct{} }

var firstReads = limited{make(chan struct{}, mostFirstReads)} //nolint:gochecknoglobals // see above

func (l limited) get() *[ChunkSize]byte {
	l.lent <- struct{}{}
	return chunkMemory.Get().(*[ChunkSize]byte)
}

func (l limited) put(buf *[ChunkSize]byte) {
	chunkMemory.Put(buf)
	<-l.lent
}
