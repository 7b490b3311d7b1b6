package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/registry/files"
	"airgap.dev/airgap/registry/verified"
)

// checked is the storage of pushed images with verified blobs. For the engine, a damaged blob does not exist: HEAD
// answers 404, a manifest that needs it is refused, and the next push replaces the file.
type checked struct {
	storagedriver.StorageDriver // disk

	blobs *verified.Blobs
}

// deletion marks the context of a request that deletes. It may delete the link to a damaged blob.
type deletion struct{}

func (c checked) Stat(ctx context.Context, path string) (storagedriver.FileInfo, error) {
	info, err := c.StorageDriver.Stat(ctx, path)
	d, is := blobAt(path)
	if err != nil || !is || info.IsDir() || ctx.Value(deletion{}) != nil {
		return info, err
	}
	if err := c.blobs.Check(files.Local(path), d); err != nil {
		return nil, unusableIsMissing(err, path)
	}
	return info, nil
}

// unusableIsMissing returns the engine's error for a missing file if the blob is damaged, missing or unreadable.
func unusableIsMissing(err error, path string) error {
	if verified.Unusable(err) {
		return storagedriver.PathNotFoundError{Path: path, DriverName: driverName}
	}
	return files.NotFound(err, path)
}

func (c checked) Reader(ctx context.Context, path string, offset int64) (io.ReadCloser, error) {
	d, is := blobAt(path)
	if !is {
		return c.StorageDriver.Reader(ctx, path, offset)
	}
	r, err := c.blobs.Open(files.Local(path), d)
	if err != nil {
		return nil, unusableIsMissing(err, path)
	}
	_, err = r.Seek(offset, io.SeekStart)
	return r, err
}

// GetContent reads a blob of at most maxManifest bytes, or another file.
func (c checked) GetContent(ctx context.Context, path string) ([]byte, error) {
	if _, is := blobAt(path); !is {
		return c.StorageDriver.GetContent(ctx, path)
	}
	r, err := c.Reader(ctx, path, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err == nil && len(content) > maxManifest {
		err = fmt.Errorf("read %s: larger than %d bytes", path, maxManifest)
	}
	return content, err
}

// Move makes an upload a blob. The engine has compared the digest of the received bytes.
func (c checked) Move(ctx context.Context, from, to string) error {
	err := c.StorageDriver.Move(ctx, from, to)
	if d, is := blobAt(to); is && err == nil {
		err = c.blobs.Uploaded(files.Local(to), d)
	}
	return err
}

// blobAt returns the digest of the blob with this data path.
func blobAt(path string) (digest.Digest, bool) {
	dir, found := strings.CutSuffix(path, "/data")
	d := digest.NewDigestFromEncoded(digest.SHA256, dir[strings.LastIndexByte(dir, '/')+1:])
	return d, found && d.Validate() == nil && path == dataPath(d)
}

// openPushed returns an opener for a blob of pushed images. Before HEAD, whole verifies it, so that no client skips the
// push of a damaged blob.
func (s storage) openPushed(d digest.Digest, whole bool) (opener, bool) {
	name := files.Local(dataPath(d))
	if whole && s.blobs.Check(name, d) != nil {
		return nil, false
	}
	return func() (io.ReadSeekCloser, error) { return s.blobs.Open(name, d) }, true
}

// watchPushed lists damaged and unreadable blobs of pushed images.
func (h *Handler) watchPushed(s storage, log *slog.Logger) {
	if s.blobs == nil {
		return
	}
	h.watchDisk(s)
	s.blobs.OnFault(func(d digest.Digest, err error) {
		log.Error("read pushed blob", "blob", d.String(), "error", err.Error())
		fault := Damage{Chunk: -1, Blob: d.String(), Path: s.holders(d)}
		if !errors.Is(err, verified.ErrDamaged) {
			fault.Cause = err.Error()
		}
		h.damage.Note(fault, func() error { return host.IgnoreMissing(s.blobs.Check(files.Local(dataPath(d)), d)) })
	})
}

// holders returns the repositories with a link to the blob, at most three.
func (s storage) holders(d digest.Digest) string {
	var names []string
	root := files.Local(repositoriesPath)
	_ = fs.WalkDir(s.files.FS(), root, func(dir string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() || strings.HasPrefix(e.Name(), "_") || len(names) == 3 {
			return fs.SkipDir // the list only helps to find the image
		}
		for _, link := range []string{layerPath(d), revisionPath(d)} {
			if _, err := s.files.Stat(dir + link); err == nil {
				names = append(names, strings.TrimPrefix(dir, root+"/"))
				break
			}
		}
		return nil
	})
	return cmp.Or(strings.Join(names, ", "), "no repository")
}
