package registry

import (
	"context"
	"errors"
	"io"
	"slices"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
)

// layered is the tree that the engine sees: what the bundles hold, and below it
// what was pushed. Both have the same bytes under the same digest, and no repository
// is in both: those of the bundles are reserved.
// Everything is written to the pushes.
type layered struct {
	storagedriver.StorageDriver // the pushes, which are pushable

	held driver
}

func (l layered) GetContent(ctx context.Context, path string) ([]byte, error) {
	content, err := l.held.GetContent(ctx, path)
	if missing(err) {
		return l.StorageDriver.GetContent(ctx, path)
	}
	return content, err
}

func (l layered) Reader(ctx context.Context, path string, offset int64) (io.ReadCloser, error) {
	content, err := l.held.Reader(ctx, path, offset)
	if missing(err) {
		return l.StorageDriver.Reader(ctx, path, offset)
	}
	return content, err
}

func (l layered) Stat(ctx context.Context, path string) (storagedriver.FileInfo, error) {
	info, err := l.held.Stat(ctx, path)
	if missing(err) {
		return l.StorageDriver.Stat(ctx, path)
	}
	return info, err
}

// List is an error for what neither of the two has.
func (l layered) List(ctx context.Context, path string) ([]string, error) {
	held, err := l.held.List(ctx, path)
	if err != nil && !missing(err) {
		return nil, err
	}
	pushed, pushedErr := l.StorageDriver.List(ctx, path)
	if pushedErr != nil && (err != nil || !missing(pushedErr)) {
		return nil, pushedErr
	}
	all := slices.Concat(held, pushed)
	slices.Sort(all)
	return slices.Compact(all), nil
}

func (l layered) Walk(ctx context.Context, path string, f storagedriver.WalkFn, options ...func(*storagedriver.WalkOptions)) error {
	return storagedriver.WalkFallback(ctx, l, path, f, options...)
}

func (l layered) Delete(ctx context.Context, path string) error {
	err := l.StorageDriver.Delete(ctx, path)
	if _, held := l.held.tree[path]; held && missing(err) {
		return errReadOnly()
	}
	return err
}

func missing(err error) bool {
	var none storagedriver.PathNotFoundError
	return errors.As(err, &none)
}
