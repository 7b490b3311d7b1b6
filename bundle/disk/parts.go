package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/host"
)

// Parts is the stream of all parts during the write.
type Parts struct {
	files    []*os.File
	partSize int64
	inOrder  bool // a write far beyond the end of a part also writes all bytes before it
	// early is only for these slow USB drives: on a fast disk, this work would take
	// processor time from fetching.
	early *EarlyWriter
}

// Part is a file of the stream. All parts but the last have the same size, in bytes.
type Part struct {
	Name string
	Size int64
}

// Open opens or creates the parts. It reserves their space if the file system
// can, so that a full disk shows at once. It does not grow the files, because FAT would
// write zeros over the whole length.
func Open(dir string, parts []Part, partSize int64) (*Parts, error) {
	t := &Parts{partSize: partSize}
	for _, p := range parts {
		f, err := host.OpenToWrite(filepath.Join(dir, p.Name))
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		t.files = append(t.files, f)
		if err := Reserve(f, p.Size); err != nil {
			return nil, errors.Join(fmt.Errorf("reserve %d bytes for %s: %w", p.Size, p.Name, err), t.Close())
		}
		t.inOrder = t.inOrder || !hasHoles(f, p.Size)
	}
	if t.inOrder {
		t.early = NewEarlyWriter(partSize*int64(len(parts)), true)
	}
	return t, nil
}

// InOrder reports whether the parts must be written from the start to the end: a write far beyond the end of a part also
// writes all bytes before it.
func (t *Parts) InOrder() bool { return t.inOrder }

// File returns a part.
func (t *Parts) File(i int) *os.File { return t.files[i] }

// hasHoles reports whether the file system supports sparse files. FAT and exFAT do not,
// and fill with zeros instead. The test makes a hole behind the end of the part.
func hasHoles(f *os.File, size int64) bool {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, size, 4096) == nil
}

// Reserve allocates the space of a file, if the file system can: a full disk shows at once. It cuts a longer file.
func Reserve(f *os.File, size int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > size {
		if err := f.Truncate(size); err != nil {
			return err
		}
	}
	err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

// WriteAt writes at an offset of the stream; p must not span parts.
func (t *Parts) WriteAt(p []byte, off int64) error {
	f, within := t.files[off/t.partSize], off%t.partSize
	if t.early != nil {
		return t.early.WriteAt(f, p, within)
	}
	return writeAt(f, p, within)
}

// ReadAt is io.ReaderAt over the stream.
func (t *Parts) ReadAt(p []byte, off int64) (int, error) {
	read := 0
	for read < len(p) {
		i := int(off / t.partSize)
		if i >= len(t.files) {
			return read, io.EOF
		}
		within := off % t.partSize
		n, err := t.files[i].ReadAt(p[read:min(int64(len(p)), int64(read)+t.partSize-within)], within)
		read += n
		off += int64(n)
		if err != nil {
			return read, err
		}
	}
	return read, nil
}

// Sync makes the finished parts durable and drops them from the page cache, so that the
// read-back reads from the disk.
func (t *Parts) Sync() error {
	if t.early != nil {
		t.early.Close()
		if err := t.early.failure(); err != nil {
			return err
		}
	}
	var group errgroup.Group
	for _, f := range t.files {
		group.Go(func() error {
			if err := f.Sync(); err != nil {
				return err
			}
			return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		})
	}
	return group.Wait()
}

// Close closes the parts.
func (t *Parts) Close() error {
	if t.early != nil {
		t.early.Close()
	}
	var errs []error
	for _, f := range t.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
