package registry

import (
	"context"
	"errors"
	"io"
	"slices"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
)

// layered is the tree that the engine sees: the content of the bundles, and the pushed content. Both
// have the same bytes under the same digest. No repository is in both, because the repositories of
// bundles are reserved. All writes go to the pushed content.
type layered struct {
	storagedriver.StorageDriver // a pushable: the pushed content

	bundles driver
}

func (l layered) GetContent(ctx context.Context, path string) ([]byte, error) {
	content, err := l.bundles.GetContent(ctx, path)
	if missing(err) {
		return l.StorageDriver.GetContent(ctx, path)
	}
	return content, err
}

func (l layered) Reader(ctx context.Context, path string, offset int64) (io.ReadCloser, error) {
	content, err := l.bundles.Reader(ctx, path, offset)
	if missing(err) {
		return l.StorageDriver.Reader(ctx, path, offset)
	}
	return content, err
}

func (l layered) Stat(ctx context.Context, path string) (storagedriver.FileInfo, error) {
	info, err := l.bundles.Stat(ctx, path)
	if missing(err) {
		return l.StorageDriver.Stat(ctx, path)
	}
	return info, err
}

// List returns an error if the path exists in neither of the two.
func (l layered) List(ctx context.Context, path string) ([]string, error) {
	bundles, err := l.bundles.List(ctx, path)
	if err != nil && !missing(err) {
		return nil, err
	}
	pushed, pushedErr := l.StorageDriver.List(ctx, path)
	if pushedErr != nil && (err != nil || !missing(pushedErr)) {
		return nil, pushedErr
	}
	all := slices.Concat(bundles, pushed)
	slices.Sort(all)
	return slices.Compact(all), nil
}

func (l layered) Walk(ctx context.Context, path string, f storagedriver.WalkFn, options ...func(*storagedriver.WalkOptions)) error {
	return storagedriver.WalkFallback(ctx, l, path, f, options...)
}

func (l layered) Delete(ctx context.Context, path string) error {
	err := l.StorageDriver.Delete(ctx, path)
	if _, bundles := l.bundles.tree[path]; bundles && missing(err) {
		return errReadOnly()
	}
	return err
}

func missing(err error) bool {
	var none storagedriver.PathNotFoundError
	return errors.As(err, &none)
}
