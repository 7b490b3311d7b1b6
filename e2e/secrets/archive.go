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

// Support bundles are made to be handed on, so what is in them is looked at like files
// on a disk. Their names here are ARCHIVE!FILE, which no rule allows.

// inside separates an archive's name from that of a file in it.
const inside = ".tar.gz!"

// IsArchive reports whether a file is a support bundle, by its name.
func IsArchive(name string) bool {
	return strings.HasPrefix(path.Base(name), "airgap-support-") && strings.HasSuffix(name, ".tar.gz")
}

// Within is the name of a file in an archive.
func Within(archive, name string) string { return archive + "!" + name }

// Unpack hands out the files of an archive. One that is damaged or cut is an error:
// nobody has seen then what is in it.
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

// ReadFile reads a file, also one in an archive.
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

// archive looks into one.
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
			s.Found(File{Within(f.Path, name), f.Mode, f.UID, f.GID}, has)
		}
		return err
	})
	if err != nil {
		return gone(fmt.Errorf("look into %s: %w", outer, err))
	}
	return nil
}
