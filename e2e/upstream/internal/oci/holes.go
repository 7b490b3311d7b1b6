package oci

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
)

// storeHoles writes a tar with one file of zeros. In the layout it is a sparse file; a copy
// takes its full size.
func (l Layer) storeHoles(dst layout.Path) (v1.Layer, error) {
	var head bytes.Buffer
	h := &tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("opt/zeros-%d", l.Seed), Size: l.Holes, Mode: 0o644, ModTime: archive.Epoch()}
	if err := tar.NewWriter(&head).WriteHeader(h); err != nil {
		return nil, err
	}
	const block = 512
	size := int64(head.Len()) + (l.Holes+block-1)/block*block + 2*block // the end of a tar is two empty blocks
	sum := sha256.New()
	sum.Write(head.Bytes())
	if _, err := io.CopyN(sum, zeros{}, size-int64(head.Len())); err != nil {
		return nil, err
	}
	digest := hashOf(sum)
	s := stored{path: filepath.Join(string(dst), "blobs", "sha256", digest.Hex), digest: digest, diff: digest, size: size, mediaType: types.OCIUncompressedLayer}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(s.path, head.Bytes(), 0o644); err != nil {
		return nil, err
	}
	return s, os.Truncate(s.path, size)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
