package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// Pack returns the archive of a chart in a directory, without the files in
// .helmignore. The same files give the same bytes. Pack refuses a link to a file
// outside of the directory.
func Pack(dir string) ([]byte, error) {
	read, err := readDir(dir)
	if err != nil {
		return nil, fmt.Errorf("pack chart %s: %w", dir, err)
	}
	c, err := loader.LoadFiles(read)
	if err != nil {
		return nil, fmt.Errorf("read chart %s: %w", dir, err)
	}
	files := slices.Clone(c.Raw)
	slices.SortFunc(files, func(a, b *common.File) int { return strings.Compare(a.Name, b.Name) })
	var b bytes.Buffer
	// Without compression the bytes do not depend on the compressor.
	z, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		header := &tar.Header{Name: c.Name() + "/" + f.Name, Mode: 0o644, Size: int64(len(f.Data)), ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack chart %s: %w", dir, err)
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, fmt.Errorf("pack chart %s: %w", dir, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
