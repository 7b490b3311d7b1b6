package bundle

import "sync"

// Memory for a chunk and for a block of a chunk, shared by the process, because a
// registry serves several bundles.
var (
	chunkMemory = sync.Pool{New: func() any { return new([ChunkSize]byte) }} //nolint:gochecknoglobals // see above
	blockMemory = sync.Pool{New: func() any { return new([block]byte) }}     //nolint:gochecknoglobals // see above
)

// mostFirstReads limits the concurrent first reads of chunks through ReadAt: enough to
// keep processors and disk busy. Other readers wait for a moment, so many slow clients
// of a registry use no more memory than a few fast ones. Copying and verifying use one
// worker per processor and do not need the limit.
const mostFirstReads = 16

// limited lends buffers for a few chunks at a time. A holder must not request a second
// buffer.
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
