package registry

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"syscall"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/registry/files"
)

// disk is the directory of pushed images. It reports errors of the disk, which the engine only answers and logs: for
// links, directories and writes. The content of blobs has its own check.
type disk struct {
	storagedriver.StorageDriver // files

	report *report
}

// report is called with each error of the disk in "reads" or "writes", and with a check that returns nil after the repair.
type report struct {
	failed func(what, path string, err error, again func() error)
}

func (d disk) note(what, path string, err error, again func() error) {
	if diskFailed(err) && d.report.failed != nil {
		d.report.failed(what, path, err, again)
	}
}

// diskFailed reports whether the disk or its file system failed. A missing file, a full disk and a name that is too long
// are answers to one request.
func diskFailed(err error) bool {
	errno, is := errors.AsType[syscall.Errno](err)
	if !is {
		return false
	}
	switch errno {
	case unix.EIO, unix.EROFS, unix.ESTALE, unix.EUCLEAN, unix.EBADMSG, unix.ENXIO, unix.ENODEV, unix.ENOMEDIUM,
		unix.EREMOTEIO, unix.ESHUTDOWN, unix.ETIMEDOUT, unix.EACCES, unix.EPERM:
		return true
	}
	return false
}

// wrote notes an error of a write. The check writes a file of its own.
func (d disk) wrote(to string, err error) error {
	d.note("writes", to, err, func() error { return d.writeBeside(context.Background(), to) })
	return err
}

// writeBeside writes and deletes a file in the directory of a file, or in the closest one that exists.
func (d disk) writeBeside(ctx context.Context, file string) error {
	dir, _, _ := strings.Cut(path.Dir(file), "/_manifests/tags") // each name there is a tag
	_, err := d.StorageDriver.Stat(ctx, dir)
	for missing(err) && dir != "/" {
		dir = path.Dir(dir)
		_, err = d.StorageDriver.Stat(ctx, dir)
	}
	probe := path.Join(dir, "airgap-write-check")
	if err := d.StorageDriver.PutContent(ctx, probe, nil); err != nil {
		return err
	}
	return d.StorageDriver.Delete(ctx, probe)
}

func (d disk) GetContent(ctx context.Context, path string) ([]byte, error) {
	content, err := d.StorageDriver.GetContent(ctx, path)
	d.note("reads", path, err, func() error {
		_, err := d.StorageDriver.GetContent(context.Background(), path)
		return present(err)
	})
	return content, err
}

func (d disk) Stat(ctx context.Context, path string) (storagedriver.FileInfo, error) {
	info, err := d.StorageDriver.Stat(ctx, path)
	d.note("reads", path, err, func() error {
		_, err := d.StorageDriver.Stat(context.Background(), path)
		return present(err)
	})
	return info, err
}

func (d disk) List(ctx context.Context, path string) ([]string, error) {
	names, err := d.StorageDriver.List(ctx, path)
	d.note("reads", path, err, func() error {
		_, err := d.StorageDriver.List(context.Background(), path)
		return present(err)
	})
	return names, err
}

// present returns err unless a file is missing, which is no error of the disk.
func present(err error) error {
	if missing(err) {
		return nil
	}
	return err
}

func (d disk) Reader(ctx context.Context, path string, offset int64) (io.ReadCloser, error) {
	r, err := d.StorageDriver.Reader(ctx, path, offset)
	d.note("reads", path, err, func() error {
		r, err := d.StorageDriver.Reader(context.Background(), path, 0)
		if err != nil {
			return present(err)
		}
		return r.Close()
	})
	return r, err
}

func (d disk) PutContent(ctx context.Context, path string, content []byte) error {
	return d.wrote(path, d.StorageDriver.PutContent(ctx, path, content))
}

func (d disk) Move(ctx context.Context, from, to string) error {
	return d.wrote(to, d.StorageDriver.Move(ctx, from, to))
}

func (d disk) Delete(ctx context.Context, path string) error {
	return d.wrote(path, d.StorageDriver.Delete(ctx, path))
}

func (d disk) Walk(ctx context.Context, path string, f storagedriver.WalkFn, options ...func(*storagedriver.WalkOptions)) error {
	return storagedriver.WalkFallback(ctx, d, path, f, options...)
}

func (d disk) Writer(ctx context.Context, path string, appending bool) (storagedriver.FileWriter, error) {
	w, err := d.StorageDriver.Writer(ctx, path, appending)
	if d.wrote(path, err) != nil {
		return nil, err
	}
	return diskWriter{w, d, path}, nil
}

type diskWriter struct {
	storagedriver.FileWriter

	disk disk
	path string
}

func (w diskWriter) Write(p []byte) (int, error) {
	n, err := w.FileWriter.Write(p)
	return n, w.disk.wrote(w.path, err)
}

func (w diskWriter) Commit(ctx context.Context) error {
	return w.disk.wrote(w.path, w.FileWriter.Commit(ctx))
}

func (w diskWriter) Close() error { return w.disk.wrote(w.path, w.FileWriter.Close()) }

// watchDisk lists errors of the disk with pushed images until the disk works again.
func (h *Handler) watchDisk(s storage) {
	s.disk.report.failed = func(what, path string, err error, again func() error) {
		h.damage.Note(Damage{Part: what, Chunk: -1, File: files.Local(path), Cause: err.Error()}, again)
	}
}
