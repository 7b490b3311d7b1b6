package registry

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/distribution/distribution/v3"
	enginestorage "github.com/distribution/distribution/v3/registry/storage"
	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"

	"airgap.dev/airgap/internal/host"
)

// storage is what the engine keeps its files in.
type storage struct {
	storagedriver.StorageDriver

	writable bool
	pushed   string      // directory of the pushes
	files    *host.Owned // the same, for reading it
	reserved reserved    // repositories that pushes are not seen in
}

// newStorage is the bundles' catalog alone, or with the pushes in the directory
// pushed, whose layout is that of any distribution registry. brought are the images of
// bundles that are no longer here.
func newStorage(c *catalog, pushed string, brought []string) (storage, error) {
	held := driver{newTree(c)}
	names, err := newReserved(c, brought)
	if pushed == "" || err != nil {
		return storage{StorageDriver: held, reserved: names}, err
	}
	f, err := openFiles(pushed)
	return storage{StorageDriver: layered{pushable{f, names}, held}, writable: true, pushed: pushed, files: f.root, reserved: names}, err
}

// file is where the pushes have what the engine calls path.
func (s storage) file(path string) string { return filepath.Join(s.pushed, filepath.FromSlash(path)) }

// namespace is the storage as the engine's own handlers see it.
func (s storage) namespace(ctx context.Context) (distribution.Namespace, error) {
	n, err := enginestorage.NewRegistry(ctx, s.StorageDriver, enginestorage.EnableDelete)
	if err != nil {
		return nil, fmt.Errorf("open storage of the registry: %w", err)
	}
	return n, nil
}
