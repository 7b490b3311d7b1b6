// Package disk writes the parts of a bundle: to fast disks as they come, and to USB drives in order and early.
package disk

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// writeSize is the number of bytes per write. The kernel allocates memory in pieces of
// the size of a write. For more than 8 pages it first compacts memory, which costs more
// than the copying.
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
	// early is the number of bytes that are sent to the disk at a time.
	early = 8 << 20
	// lastingAfter is the number of stretches of early bytes after which a file is made
	// durable. This also happens when the next file starts, if lasting is set.
	lastingAfter = 8
)

// EarlyWriter writes, and starts the writeback of each complete stretch of early bytes.
// Without it, the disk would be idle while gigabytes collect in the page cache, and
// fsync would wait for all of them. The kernel blocks the caller while the disk is
// busy, so a separate goroutine makes this call and the fetching goroutines continue.
type EarlyWriter struct {
	// lasting makes the written bytes durable periodically. Without a journal, only fsync
	// writes the new length of a file, so everything that was fetched would be lost if the
	// USB drive is pulled out.
	lasting   bool
	stretches chan stretch
	stop      chan struct{}
	stopOnce  sync.Once
	stopped   chan struct{}

	mu  sync.Mutex
	err error // the first disk error
}

type stretch struct {
	file *os.File
	off  int64 // offset of its first byte
}

// NewEarlyWriter is for files with a total of size bytes. Close it before the files.
func NewEarlyWriter(size int64, lasting bool) *EarlyWriter {
	w := &EarlyWriter{
		lasting: lasting, stretches: make(chan stretch, size/early+1),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go w.writeBack()
	return w
}

// WriteAt writes p at off of the file.
func (w *EarlyWriter) WriteAt(f *os.File, p []byte, off int64) error {
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
		default: // a stretch that is rewritten repeatedly; skipping is safe
		}
	}
	return nil
}

func (w *EarlyWriter) writeBack() {
	defer close(w.stopped)
	var before *os.File
	for told := 1; ; told++ {
		select {
		case s := <-w.stretches:
			// Only a hint: fsync reports disk errors.
			_ = unix.SyncFileRange(int(s.file.Fd()), s.off, early, unix.SYNC_FILE_RANGE_WRITE)
			if w.lasting && before != nil && before != s.file {
				w.fail(before.Sync()) // the rest of the file can be shorter than a stretch
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

func (w *EarlyWriter) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

// failure returns the error of fsync, because fsync reports an error only once.
func (w *EarlyWriter) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close returns when no file is in use.
func (w *EarlyWriter) Close() {
	w.stopOnce.Do(func() { close(w.stop) })
	<-w.stopped
}
