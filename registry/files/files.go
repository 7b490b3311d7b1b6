// Package files is the storage of pushed images: a driver of the distribution registry in one
// directory. It never accesses files outside of the directory, a file is on the disk before its name
// is, and a request that meets a full disk can be recognized.
package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/host"
)

const driverName = "airgap"

// MaxContent is the largest file in bytes that the engine reads at once: its limit for manifests.
const MaxContent = 4 << 20

// Driver is a storage driver in one directory. The engine's own driver does not sync renamed files,
// and its base package sends traces, which needs 24 more modules.
type Driver struct{ root *host.Owned }

var _ storagedriver.StorageDriver = Driver{}

// Open creates the directory if it does not exist, and checks that it is writable.
func Open(dir string) (Driver, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return Driver{}, err
	}
	if err := unix.Access(dir, unix.W_OK); err != nil {
		return Driver{}, &fs.PathError{Op: "write to", Path: dir, Err: err}
	}
	root, err := host.OpenOwned(dir)
	return Driver{root}, err
}

// Root returns the directory.
func (f Driver) Root() *host.Owned { return f.root }

// Name implements storagedriver.StorageDriver.
func (Driver) Name() string { return driverName }

// Local returns the path relative to the root, as os.Root requires it.
func Local(path string) string {
	if path = strings.TrimPrefix(path, "/"); path != "" {
		return path
	}
	return "."
}

// NotFound converts an error for a missing file to the engine's type.
func NotFound(err error, path string) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return storagedriver.PathNotFoundError{Path: path, DriverName: driverName}
	}
	return err
}

// GetContent implements storagedriver.StorageDriver.
func (f Driver) GetContent(_ context.Context, path string) ([]byte, error) {
	if err := valid(path); err != nil {
		return nil, err
	}
	limit := int64(math.MaxInt64 - 1)
	if f.root.Foreign() {
		limit = MaxContent
	}
	content, err := f.root.ReadFile(Local(path), limit)
	return content, NotFound(err, path)
}

// PutContent replaces a file atomically, also during a power cut.
func (f Driver) PutContent(ctx context.Context, to string, content []byte) error {
	if err := valid(to); err != nil {
		return err
	}
	temporary := to + "." + uuid.NewString()
	w, err := f.Writer(ctx, temporary, false)
	if err != nil {
		return err
	}
	if _, err = io.Copy(w, bytes.NewReader(content)); err == nil {
		err = w.Commit(ctx)
	}
	if err = errors.Join(err, w.Close()); err == nil {
		err = f.Move(ctx, temporary, to)
	}
	if err != nil {
		return errors.Join(NoteFull(ctx, err), f.root.RemoveAll(Local(temporary)))
	}
	return nil
}

// valid returns an error for a path that the engine's drivers do not accept.
func valid(path string) error {
	if !storagedriver.PathRegexp.MatchString(path) {
		return storagedriver.InvalidPathError{Path: path, DriverName: driverName}
	}
	return nil
}

// Reader implements storagedriver.StorageDriver.
func (f Driver) Reader(_ context.Context, path string, offset int64) (io.ReadCloser, error) {
	if offset < 0 {
		return nil, storagedriver.InvalidOffsetError{Path: path, Offset: offset, DriverName: driverName}
	}
	file, err := f.root.Open(Local(path))
	if err != nil {
		return nil, NotFound(err, path)
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Writer implements storagedriver.StorageDriver.
func (f Driver) Writer(ctx context.Context, to string, appending bool) (storagedriver.FileWriter, error) {
	if err := valid(to); err != nil {
		return nil, err
	}
	request := requestOf(ctx)
	request.writes(to)
	if err := f.root.MkdirAll(Local(path.Dir(to)), 0o750); err != nil {
		return nil, NoteFull(ctx, err)
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if appending {
		flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	file, err := f.root.OpenFile(Local(to), flags, 0o640)
	if err != nil {
		return nil, NoteFull(ctx, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	w := &fileWriter{File: file, ctx: ctx, remove: func() error { return f.root.Remove(Local(to)) }, size: info.Size()}
	request.opened(w)
	return w, nil
}

// fileWriter writes one file. A later Writer can continue a file after Close.
type fileWriter struct {
	*os.File

	ctx    context.Context // of the request
	remove func() error
	size   int64
	closed bool
}

func (w *fileWriter) Write(p []byte) (int, error) {
	n, err := w.File.Write(p)
	w.size += int64(n)
	return n, NoteFull(w.ctx, err)
}

// ReadFrom hides the method of os.File, which would not update size.
func (w *fileWriter) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{w}, r)
}

func (w *fileWriter) Size() int64 { return w.size }

func (w *fileWriter) Close() error { return NoteFull(w.ctx, w.closeOnce()) }

func (w *fileWriter) closeOnce() error {
	if w.closed {
		return nil
	}
	w.closed = true
	return w.File.Close()
}

func (w *fileWriter) Commit(context.Context) error { return NoteFull(w.ctx, w.Sync()) }

func (w *fileWriter) Cancel(context.Context) error {
	return errors.Join(w.Close(), w.remove())
}

// Stat implements storagedriver.StorageDriver.
func (f Driver) Stat(_ context.Context, path string) (storagedriver.FileInfo, error) {
	info, err := f.root.Stat(Local(path))
	if err != nil {
		return nil, NotFound(err, path)
	}
	fields := storagedriver.FileInfoFields{Path: path, ModTime: info.ModTime().Truncate(time.Microsecond), IsDir: info.IsDir()}
	if !info.IsDir() {
		fields.Size = info.Size()
	}
	return storagedriver.FileInfoInternal{FileInfoFields: fields}, nil
}

// List implements storagedriver.StorageDriver.
func (f Driver) List(_ context.Context, at string) ([]string, error) {
	dir, err := f.root.OpenFile(Local(at), os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, NotFound(err, at)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(0)
	for i, name := range names {
		names[i] = path.Join(at, name)
	}
	return names, NotFound(err, at)
}

// Move renames a file and syncs the directory.
func (f Driver) Move(ctx context.Context, from, to string) error {
	if err := f.root.MkdirAll(Local(path.Dir(to)), 0o750); err != nil {
		return NoteFull(ctx, err)
	}
	if err := f.root.Rename(Local(from), Local(to)); err != nil {
		return NotFound(NoteFull(ctx, err), from)
	}
	return SyncDir(f.root, path.Dir(to))
}

// Delete implements storagedriver.StorageDriver.
func (f Driver) Delete(_ context.Context, at string) error {
	if _, err := f.root.Stat(Local(at)); err != nil {
		return NotFound(err, at)
	}
	if err := f.root.RemoveAll(Local(at)); err != nil {
		return err
	}
	return SyncDir(f.root, path.Dir(at))
}

// SyncDir writes the entries of a directory to the disk.
func SyncDir(root *host.Owned, dir string) error {
	d, err := root.OpenFile(Local(dir), os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Walk implements storagedriver.StorageDriver.
func (f Driver) Walk(ctx context.Context, path string, fn storagedriver.WalkFn, options ...func(*storagedriver.WalkOptions)) error {
	return storagedriver.WalkFallback(ctx, f, path, fn, options...)
}

// RedirectURL implements storagedriver.StorageDriver.
func (Driver) RedirectURL(*http.Request, string) (string, error) { return "", nil }
