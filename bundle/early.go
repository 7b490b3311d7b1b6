package bundle

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// writeSize is how much is written at a time, bytes. The kernel takes memory in
// pieces as large as what is written; for more than 8 pages it first moves other
// memory about, which costs more than the copying.
const writeSize = 32 << 10

// writeAt writes p at off of the file.
func writeAt(f *os.File, p []byte, off int64) error {
	for len(p) > 0 {
		n, err := f.WriteAt(p[:min(int64(len(p)), writeSize-off%writeSize)], off)
		if err != nil {
			return err
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

const (
	// early is how much of a file goes to the disk at a time, bytes.
	early = 8 << 20
	// lastingAfter stretches of early bytes a file is made durable, and when
	// another one is begun, where it is at all before the end.
	lastingAfter = 8
)

// earlyWriter writes, and tells the kernel to put each stretch of early bytes
// on the disk as soon as it is complete. Otherwise the disk stands idle while
// gigabytes gather in the page cache, and fsync waits for all of them. The
// kernel lets who tells it wait while the disk has enough to do: so one
// goroutine tells it, and those who fetch go on.
type earlyWriter struct {
	// lasting has what is written made durable every now and then. Where there is
	// no journal a file's new length is written with fsync only: all that was
	// fetched before a stick is pulled would be lost.
	lasting   bool
	stretches chan stretch
	stop      chan struct{}
	stopOnce  sync.Once
	stopped   chan struct{}

	mu  sync.Mutex
	err error // the first of the disk's
}

type stretch struct {
	file *os.File
	off  int64 // of its first byte
}

// newEarlyWriter is for files of size bytes in all. It has to be closed before
// they are.
func newEarlyWriter(size int64, lasting bool) *earlyWriter {
	w := &earlyWriter{
		lasting: lasting, stretches: make(chan stretch, size/early+1),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go w.tell()
	return w
}

// writeAt writes p at off of the file.
func (w *earlyWriter) writeAt(f *os.File, p []byte, off int64) error {
	for len(p) > 0 {
		n := min(int64(len(p)), early-off%early)
		if err := writeAt(f, p[:n], off); err != nil {
			return err
		}
		p, off = p[n:], off+n
		if off%early > 0 {
			continue
		}
		if err := w.failure(); err != nil {
			return err
		}
		select {
		case w.stretches <- stretch{f, off - early}:
		default: // written again and again; it is a hint
		}
	}
	return nil
}

func (w *earlyWriter) tell() {
	defer close(w.stopped)
	var before *os.File
	for told := 1; ; told++ {
		select {
		case s := <-w.stretches:
			// A hint: errors of the disk come with fsync.
			_ = unix.SyncFileRange(int(s.file.Fd()), s.off, early, unix.SYNC_FILE_RANGE_WRITE)
			if w.lasting && before != nil && before != s.file {
				w.fail(before.Sync()) // its last bytes need not make a whole stretch
			}
			if w.lasting && told%lastingAfter == 0 {
				w.fail(s.file.Sync())
			}
			before = s.file
		case <-w.stop:
			return
		}
	}
}

func (w *earlyWriter) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

// failure is what fsync said, which says it only once.
func (w *earlyWriter) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// close returns when no file is in use any more.
func (w *earlyWriter) close() {
	w.stopOnce.Do(func() { close(w.stop) })
	<-w.stopped
}
