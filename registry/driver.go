package registry

import (
	"context"
	"io"
	"net/http"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
)

const driverName = "airgap"

// driver shows a tree to the engine. It refuses all writes.
type driver struct{ tree tree }

var _ storagedriver.StorageDriver = driver{}

func (d driver) Name() string { return driverName }

func (d driver) find(path string) (*node, error) {
	n, ok := d.tree[path]
	if !ok {
		return nil, storagedriver.PathNotFoundError{Path: path, DriverName: driverName}
	}
	return n, nil
}

func (d driver) GetContent(ctx context.Context, path string) ([]byte, error) {
	r, err := d.Reader(ctx, path, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func (d driver) Reader(_ context.Context, path string, offset int64) (io.ReadCloser, error) {
	n, err := d.find(path)
	if err != nil {
		return nil, err
	}
	if n.children != nil {
		return nil, storagedriver.PathNotFoundError{Path: path, DriverName: driverName}
	}
	if offset < 0 || offset > n.size() {
		return nil, storagedriver.InvalidOffsetError{Path: path, Offset: offset, DriverName: driverName}
	}
	content, err := n.open()
	if err != nil {
		return nil, err
	}
	_, err = content.Seek(offset, io.SeekStart)
	return content, err
}

func (d driver) Stat(_ context.Context, path string) (storagedriver.FileInfo, error) {
	n, err := d.find(path)
	if err != nil {
		return nil, err
	}
	fields := storagedriver.FileInfoFields{Path: path, Size: n.size(), IsDir: n.children != nil}
	if n.blob != nil {
		fields.ModTime = n.blob.added
	}
	return storagedriver.FileInfoInternal{FileInfoFields: fields}, nil
}

func (d driver) List(_ context.Context, path string) ([]string, error) {
	n, err := d.find(path)
	if err != nil {
		return nil, err
	}
	return n.list(), nil
}

func (d driver) Walk(ctx context.Context, path string, f storagedriver.WalkFn, options ...func(*storagedriver.WalkOptions)) error {
	return storagedriver.WalkFallback(ctx, d, path, f, options...)
}

func (driver) RedirectURL(*http.Request, string) (string, error) { return "", nil }

func (driver) PutContent(context.Context, string, []byte) error { return errReadOnly() }
func (driver) Move(context.Context, string, string) error       { return errReadOnly() }
func (driver) Delete(context.Context, string) error             { return errReadOnly() }
func (driver) Writer(context.Context, string, bool) (storagedriver.FileWriter, error) {
	return nil, errReadOnly()
}

func errReadOnly() error { return storagedriver.ErrUnsupportedMethod{DriverName: driverName} }

// open opens the node's content.
func (n *node) open() (io.ReadSeekCloser, error) {
	if n.blob != nil {
		return n.blob.open()
	}
	return inMemory([]byte(n.link)), nil
}
