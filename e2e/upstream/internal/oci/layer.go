package oci

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
)

// unfinished is the name pattern of layers that are being written.
const unfinished = "layer-*"

// stored is a layer that is already in the layout, so that writing the image does not copy
// it again.
type stored struct {
	path         string
	digest, diff v1.Hash
	size         int64
	mediaType    types.MediaType
}

func (s stored) Digest() (v1.Hash, error)             { return s.digest, nil }
func (s stored) DiffID() (v1.Hash, error)             { return s.diff, nil }
func (s stored) Size() (int64, error)                 { return s.size, nil }
func (s stored) MediaType() (types.MediaType, error)  { return s.mediaType, nil }
func (s stored) Compressed() (io.ReadCloser, error)   { return os.Open(s.path) }
func (s stored) Uncompressed() (io.ReadCloser, error) { return s.unzip() }

func (s stored) unzip() (io.ReadCloser, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	zip, err := gzip.NewReader(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{zip, f}, nil
}

// store writes the layer into the blobs of the layout.
func (l Layer) store(dst layout.Path) (v1.Layer, error) {
	if l.Holes > 0 {
		return l.storeHoles(dst)
	}
	blobs := filepath.Join(string(dst), "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return nil, err
	}
	// Outside the directory of blobs: an interrupted build must not leave a wrong blob.
	tmp, err := os.CreateTemp(string(dst), unfinished)
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	compressed := sha256.New()
	if err := l.write(io.MultiWriter(tmp, compressed)); err != nil {
		return nil, err
	}
	s := stored{digest: hashOf(compressed), mediaType: types.OCILayer}
	s.path = filepath.Join(blobs, s.digest.Hex)
	if s.size, err = tmp.Seek(0, io.SeekCurrent); err != nil {
		return nil, err
	}
	if s.diff, err = diffID(tmp); err != nil {
		return nil, err
	}
	if err := tmp.Chmod(0o644); err != nil {
		return nil, err
	}
	return s, os.Rename(tmp.Name(), s.path)
}

func (l Layer) write(w io.Writer) error {
	if l.Noise == 0 {
		return archive.TarGz(w, l.Files)
	}
	zip, err := gzip.NewWriterLevel(w, gzip.NoCompression)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(zip)
	name := fmt.Sprintf("opt/data-%d", l.Seed)
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: l.Noise, Mode: 0o644, ModTime: archive.Epoch()}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	if _, err := io.CopyN(tw, rand.NewChaCha8([32]byte{l.Seed}), l.Noise); err != nil {
		return err
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return zip.Close()
}

// diffID hashes the uncompressed content of f.
func diffID(f *os.File) (v1.Hash, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return v1.Hash{}, err
	}
	zip, err := gzip.NewReader(f)
	if err != nil {
		return v1.Hash{}, err
	}
	h := sha256.New()
	if _, err := io.Copy(h, zip); err != nil {
		return v1.Hash{}, err
	}
	return hashOf(h), nil
}

func hashOf(h hash.Hash) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", h.Sum(nil))}
}
