package secrets

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Users send support bundles to other people, so a scan also searches the files in them.
// Such a file has the name ARCHIVE!FILE, which no rule allows.

// inside separates the name of an archive from the name of a file in it.
const inside = ".tar.gz!"

// IsArchive reports whether a name is that of a support bundle.
func IsArchive(name string) bool {
	return strings.HasPrefix(path.Base(name), "airgap-support-") && strings.HasSuffix(name, ".tar.gz")
}

// InArchive returns the name of a file in an archive, ARCHIVE!FILE.
func InArchive(archive, name string) string { return archive + "!" + name }

// Unpack calls take for each file of an archive. It returns an error for a damaged or
// truncated archive, since the scan did not search all of it.
func Unpack(r io.Reader, take func(name string, content io.Reader) error) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	for files := tar.NewReader(z); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		if err := take(header.Name, files); err != nil {
			return err
		}
	}
}

// ReadFile reads a file, which may be a file in an archive.
func ReadFile(name string) (text []byte, err error) {
	at := strings.Index(name, inside)
	if at < 0 {
		return os.ReadFile(name)
	}
	archive, want := name[:at+len(inside)-1], name[at+len(inside):]
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found := false
	err = Unpack(f, func(name string, content io.Reader) (err error) {
		if name == want && !found {
			found = true
			text, err = io.ReadAll(content)
		}
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
	}
	return text, err
}

// archive searches the files of an archive.
func (s *Scan) archive(outer string, f File, buffer []byte) error {
	in, err := os.Open(outer)
	if err != nil {
		return gone(err)
	}
	defer in.Close()
	err = Unpack(in, func(name string, content io.Reader) error {
		has, size, err := s.Search.InReader(content, buffer)
		s.files.Add(1)
		s.bytes.Add(size)
		if has = append(has, s.Search.In([]byte(name))...); err == nil && len(has) > 0 {
			s.Found(File{InArchive(f.Path, name), f.Mode, f.UID, f.GID}, has)
		}
		return err
	})
	if err != nil {
		return gone(fmt.Errorf("search %s: %w", outer, err))
	}
	return nil
}
