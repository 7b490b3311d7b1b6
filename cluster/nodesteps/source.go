package nodesteps

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"airgap.dev/airgap/bundle"
)

// Source opens a file of the bundle by its path in the tar: on the first host from the
// bundle, with the base of a delta; on a joining host from the registry. The last
// bytes can be read only if the whole file matches its signature.
type Source func(ctx context.Context, path string) (io.ReadCloser, error)

// FromView opens the files of a bundle.
func FromView(v *bundle.View) Source {
	return func(_ context.Context, path string) (io.ReadCloser, error) {
		f, err := v.File(path)
		if err != nil {
			return nil, err
		}
		return f.Open(), nil
	}
}

// files opens by the name in the lock; it is a kubeadm.Source.
func (open Source) files(ctx context.Context, name string) (io.ReadCloser, error) {
	return open(ctx, path.Join("files", name))
}

// All reads every file of the bundle's directory dir, by its base name.
func (open Source) All(ctx context.Context, index *bundle.Index, dir string) (map[string][]byte, error) {
	found := map[string][]byte{}
	for _, f := range index.Files {
		if !strings.HasPrefix(f.Path, dir+"/") {
			continue
		}
		r, err := open(ctx, f.Path)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Path, err)
		}
		found[path.Base(f.Path)] = data
	}
	return found, nil
}
