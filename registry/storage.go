package registry

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/distribution/distribution/v3"
	enginestorage "github.com/distribution/distribution/v3/registry/storage"
	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/registry/files"
	"airgap.dev/airgap/registry/verified"
)

// storage is the storage driver of the engine, and its directory.
type storage struct {
	storagedriver.StorageDriver

	writable bool
	sparse   bool        // an index may be pushed without the manifests of some platforms
	pushed   string      // directory of pushed images
	files    *host.Owned // the same, for reading
	blobs    *verified.Blobs
	disk     disk
	reserved reserved // repositories without pushed images
}

// newStorage returns a storage of the bundles' catalog and, if pushed is set, of the pushed images in
// that directory. It has the layout of the distribution registry. imported are the image names of
// earlier bundles.
func newStorage(c *catalog, pushed string, imported []string) (storage, error) {
	bundles := driver{newTree(c)}
	names, err := newReserved(c, imported)
	if pushed == "" || err != nil {
		return storage{StorageDriver: bundles, reserved: names}, err
	}
	f, err := files.Open(pushed)
	blobs := verified.New(f.Root())
	s := storage{writable: true, sparse: true, pushed: pushed, files: f.Root(), blobs: blobs, disk: disk{f, new(report)}, reserved: names}
	s.StorageDriver = layered{pushable{checked{s.disk, blobs}, names}, bundles}
	return s, err
}

// file returns the file of the engine's path in the directory of pushed images.
func (s storage) file(path string) string { return filepath.Join(s.pushed, filepath.FromSlash(path)) }

// namespace opens the storage, as the engine's handlers do.
func (s storage) namespace(ctx context.Context) (distribution.Namespace, error) {
	n, err := enginestorage.NewRegistry(ctx, s.StorageDriver, enginestorage.EnableDelete)
	if err != nil {
		return nil, fmt.Errorf("open storage of the registry: %w", err)
	}
	return n, nil
}
