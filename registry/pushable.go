package registry

import (
	"context"
	"io"
	"slices"
	"strings"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
)

// pushable is the storage of pushed images without the reserved repositories. It hides images that an
// earlier airgap accepted there, and refuses all writes there.
type pushable struct {
	storagedriver.StorageDriver

	reserved reserved
}

const repositoriesPath = engineRoot + "/repositories"

// hidden reports whether a path is in a reserved repository.
func (p pushable) hidden(path string) bool {
	name, below := strings.CutPrefix(path, repositoriesPath+"/")
	return below && p.reserved.has(name)
}

// checkVisible returns an error for a hidden path.
func (p pushable) checkVisible(path string) error {
	if p.hidden(path) {
		return storagedriver.PathNotFoundError{Path: path, DriverName: driverName}
	}
	return nil
}

func (p pushable) GetContent(ctx context.Context, path string) ([]byte, error) {
	if err := p.checkVisible(path); err != nil {
		return nil, err
	}
	return p.StorageDriver.GetContent(ctx, path)
}

func (p pushable) Reader(ctx context.Context, path string, offset int64) (io.ReadCloser, error) {
	if err := p.checkVisible(path); err != nil {
		return nil, err
	}
	return p.StorageDriver.Reader(ctx, path, offset)
}

func (p pushable) Stat(ctx context.Context, path string) (storagedriver.FileInfo, error) {
	if err := p.checkVisible(path); err != nil {
		return nil, err
	}
	return p.StorageDriver.Stat(ctx, path)
}

func (p pushable) List(ctx context.Context, path string) ([]string, error) {
	if err := p.checkVisible(path); err != nil {
		return nil, err
	}
	all, err := p.StorageDriver.List(ctx, path)
	return slices.DeleteFunc(all, p.hidden), err
}

func (p pushable) Walk(ctx context.Context, path string, f storagedriver.WalkFn, options ...func(*storagedriver.WalkOptions)) error {
	return storagedriver.WalkFallback(ctx, p, path, f, options...)
}

func (p pushable) PutContent(ctx context.Context, path string, content []byte) error {
	if p.hidden(path) {
		return errReadOnly()
	}
	return p.StorageDriver.PutContent(ctx, path, content)
}

func (p pushable) Writer(ctx context.Context, path string, appends bool) (storagedriver.FileWriter, error) {
	if p.hidden(path) {
		return nil, errReadOnly()
	}
	return p.StorageDriver.Writer(ctx, path, appends)
}

func (p pushable) Move(ctx context.Context, from, to string) error {
	if p.hidden(from) || p.hidden(to) {
		return errReadOnly()
	}
	return p.StorageDriver.Move(ctx, from, to)
}

func (p pushable) Delete(ctx context.Context, path string) error {
	if err := p.checkVisible(path); err != nil {
		return err
	}
	return p.StorageDriver.Delete(ctx, path)
}
