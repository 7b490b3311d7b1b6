package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// maxNested limits the nesting of subcharts' archives.
const maxNested = 8

// checkArchive checks a chart's archive before Helm reads it. The limit is for the chart
// with all archives of subcharts, while Helm's limits are for each archive.
func checkArchive(data []byte) error {
	left := int64(maxTotal)
	return checkTar(data, &left, 0)
}

func checkTar(data []byte, left *int64, depth int) error {
	if depth > maxNested {
		return fmt.Errorf("its subcharts are nested more than %d levels deep", maxNested)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	defer z.Close()
	for r := tar.NewReader(&budget{z, left}); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := checkEntry(h); err != nil {
			return err
		}
		if !strings.HasSuffix(h.Name, ".tgz") || path.Base(path.Dir(h.Name)) != "charts" {
			continue
		}
		sub, err := io.ReadAll(io.LimitReader(r, maxFile+1))
		if err != nil {
			return err
		}
		if err := checkTar(sub, left, depth+1); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

// checkEntry refuses entries that Helm reads as an empty file, but that a program which
// unpacks the archive would follow. Links within the chart are allowed.
func checkEntry(h *tar.Header) error {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeXGlobalHeader, tar.TypeXHeader:
		return nil
	case tar.TypeSymlink, tar.TypeLink:
		to := h.Linkname
		if h.Typeflag == tar.TypeSymlink && !path.IsAbs(to) {
			to = path.Join(path.Dir(h.Name), to) //nolint:gosec // compared, never opened
		}
		to = path.Clean(to)
		top, _, _ := strings.Cut(path.Clean(h.Name), "/")
		if to == top || strings.HasPrefix(to, top+"/") {
			return nil
		}
		return fmt.Errorf("%s is a link to %s, which is not in the chart", h.Name, h.Linkname)
	}
	return fmt.Errorf("%s is not a regular file (tar type %q)", h.Name, h.Typeflag)
}

type budget struct {
	r    io.Reader
	left *int64
}

func (b *budget) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if *b.left -= int64(n); *b.left < 0 {
		return 0, fmt.Errorf("it is larger than %d bytes", maxTotal)
	}
	return n, err
}
