// Package archive writes reproducible gzip-compressed tar files: their bytes depend only on
// the names, modes and contents of the files. All entries have the same time stamp and the
// owner root. Names are sorted, parents before children. Image layers and release archives
// use this format.
package archive

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Epoch returns the time stamp of all entries.
func Epoch() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// File is one entry. It has exactly one of Source, Data and Link, or is a directory, with a
// trailing slash in Path.
type File struct {
	Path   string // in the archive, without a leading slash
	Source string // path of a file on this machine with the content
	Data   []byte // the content
	Link   string // target of a symbolic link
	Mode   int64  // permission bits; 0 means 0755
}

// TarGz writes the files and their parent directories.
func TarGz(w io.Writer, files []File) error {
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(zip)
	for _, f := range withParents(files) {
		if err := write(tw, f); err != nil {
			return fmt.Errorf("pack %s: %w", f.Path, err)
		}
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return zip.Close()
}

// withParents sorts the files and adds their parent directories.
func withParents(files []File) []File {
	all := map[string]File{}
	for _, f := range files {
		for dir := path.Dir(strings.TrimSuffix(f.Path, "/")); dir != "."; dir = path.Dir(dir) {
			if _, ok := all[dir+"/"]; !ok {
				all[dir+"/"] = File{Path: dir + "/"}
			}
		}
		all[f.Path] = f
	}
	return slices.SortedFunc(maps.Values(all), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}

func write(tw *tar.Writer, f File) error {
	h := &tar.Header{Name: f.Path, Mode: f.Mode, ModTime: Epoch(), Format: tar.FormatPAX}
	if h.Mode == 0 {
		h.Mode = 0o755
	}
	switch {
	case strings.HasSuffix(f.Path, "/"):
		h.Typeflag = tar.TypeDir
		return tw.WriteHeader(h)
	case f.Link != "":
		h.Typeflag, h.Linkname = tar.TypeSymlink, f.Link
		return tw.WriteHeader(h)
	case f.Source != "":
		return copyFile(tw, h, f.Source)
	}
	h.Typeflag, h.Size = tar.TypeReg, int64(len(f.Data))
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := tw.Write(f.Data)
	return err
}

func copyFile(tw *tar.Writer, h *tar.Header, source string) error {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	h.Typeflag, h.Size = tar.TypeReg, info.Size()
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(tw, in)
	return err
}
