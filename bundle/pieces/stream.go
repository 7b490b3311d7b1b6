package pieces

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"

	"golang.org/x/sys/unix"
)

// stream is the files of a bundle as one sequence of bytes. It keeps one file open at a time.
type stream struct {
	m     *manifest
	root  *os.Root
	name  func(file) string // of the file in root
	flags int
	open  *os.File
	which int
	dirty []int // files that were written since the last sync
}

func newStream(m *manifest, root *os.Root, flags int, name func(file) string) *stream {
	return &stream{m: m, root: root, name: name, flags: flags | unix.O_NOFOLLOW | unix.O_NONBLOCK, which: -1}
}

// each calls do for every piece of [off, off+len(p)) that is in one file.
func (s *stream) each(p []byte, off int64, do func(f *os.File, p []byte, at int64) error) error {
	for len(p) > 0 {
		i := sort.Search(len(s.m.start), func(i int) bool { return s.m.start[i] > off }) - 1
		for i < len(s.m.Files) && off >= s.m.start[i]+s.m.Files[i].Size {
			i++ // an empty file
		}
		if i == len(s.m.Files) {
			return io.ErrUnexpectedEOF
		}
		at := off - s.m.start[i]
		n := min(int64(len(p)), s.m.Files[i].Size-at)
		f, err := s.file(i)
		if err != nil {
			return err
		}
		if err := do(f, p[:n], at); err != nil {
			return err
		}
		p, off = p[n:], off+n
	}
	return nil
}

func (s *stream) file(i int) (*os.File, error) {
	if s.which == i {
		return s.open, nil
	}
	if err := s.close(); err != nil {
		return nil, err
	}
	f, err := s.root.OpenFile(s.name(s.m.Files[i]), s.flags, 0o644)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("open %s: want a regular file", f.Name()), err, f.Close())
	}
	s.open, s.which = f, i
	return f, nil
}

// ReadAt fills p from off.
func (s *stream) ReadAt(p []byte, off int64) (int, error) {
	read := 0
	err := s.each(p, off, func(f *os.File, p []byte, at int64) error {
		n, err := f.ReadAt(p, at)
		read += n
		if errors.Is(err, io.EOF) && n == len(p) {
			err = nil
		}
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("read %s: it is shorter than before: %w", f.Name(), io.ErrUnexpectedEOF)
		}
		return err
	})
	return read, err
}

// WriteAt writes p at off.
func (s *stream) WriteAt(p []byte, off int64) (int, error) {
	return len(p), s.each(p, off, func(f *os.File, p []byte, at int64) error {
		if !slices.Contains(s.dirty, s.which) {
			s.dirty = append(s.dirty, s.which)
		}
		_, err := f.WriteAt(p, at)
		return err
	})
}

// sync makes the written bytes durable.
func (s *stream) sync() error {
	for _, i := range s.dirty {
		f, err := s.file(i)
		if err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	s.dirty = nil
	return nil
}

func (s *stream) close() error {
	if s.open == nil {
		return nil
	}
	err := s.open.Close()
	s.open, s.which = nil, -1
	return err
}
