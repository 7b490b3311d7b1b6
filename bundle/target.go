package bundle

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// target is the parts as they are being written.
type target struct {
	files    []*os.File
	partSize int64
}

// openTarget opens or makes the parts, and reserves their space where the
// file system can, so that a full disk shows at once. It reserves without
// growing the file: on FAT that would write zeros over the whole length.
func openTarget(dir string, parts []Part, partSize int64) (*target, error) {
	t := &target{partSize: partSize}
	for _, p := range parts {
		f, err := os.OpenFile(filepath.Join(dir, p.Name), os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, errors.Join(err, t.close())
		}
		t.files = append(t.files, f)
		if err := reserve(f, p.Size); err != nil {
			return nil, errors.Join(fmt.Errorf("reserve %d bytes for %s: %w", p.Size, p.Name, err), t.close())
		}
	}
	return t, nil
}

func reserve(f *os.File, size int64) error {
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

// writeAt writes at an offset of the stream; p must not cross parts.
func (t *target) writeAt(p []byte, off int64) error {
	return writeEarly(t.files[off/t.partSize], p, off%t.partSize)
}

const (
	// writeSize is how much is written at a time, bytes. The kernel takes memory
	// in pieces as large as what is written; for more than 8 pages it first
	// moves other memory about, which costs more than the copying.
	writeSize = 32 << 10
	// early is how much of a file goes to the disk at a time, bytes.
	early = 8 << 20
)

// writeEarly writes, and whenever a stretch of early bytes is complete it
// tells the kernel to begin putting that on the disk. Otherwise the disk stands
// idle while gigabytes gather in the page cache, and fsync waits for all of them.
func writeEarly(f *os.File, p []byte, off int64) error {
	for len(p) > 0 {
		n, err := f.WriteAt(p[:min(int64(len(p)), writeSize-off%writeSize)], off)
		if err != nil {
			return err
		}
		p, off = p[n:], off+int64(n)
		if off%early == 0 {
			// A hint: errors of the disk come with fsync.
			_ = unix.SyncFileRange(int(f.Fd()), off-early, early, unix.SYNC_FILE_RANGE_WRITE)
		}
	}
	return nil
}

// ReadAt is io.ReaderAt over the stream.
func (t *target) ReadAt(p []byte, off int64) (int, error) {
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

// sync makes the parts durable and forgets what the page cache holds of them,
// so that reading them again asks the disk.
func (t *target) sync() error {
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

func (t *target) close() error {
	var errs []error
	for _, f := range t.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
