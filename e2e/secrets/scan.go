package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// File is a file or a directory that a scan visited.
type File struct {
	Path     string // on the server
	Mode     fs.FileMode
	UID, GID uint32
}

// Scan is one pass over trees of files.
type Scan struct {
	Search *Search
	// Tree calls Found for each file with secrets, and Passed for each file and directory.
	// Several goroutines may call Found at the same time.
	Found  func(f File, has []Secret)
	Passed func(f File)

	files, bytes atomic.Int64
	buffers      sync.Pool
}

// Read returns the number of searched files, and of their bytes.
func (s *Scan) Read() (files, bytes int64) { return s.files.Load(), s.bytes.Load() }

// Tree scans the directory outer, which has the path inner on the server. It stays on the
// file system of outer and the tmpfs file systems below it. A file that is removed during
// the scan is not an error.
func (s *Scan) Tree(outer, inner string) error {
	g := errgroup.Group{}
	g.SetLimit(runtime.NumCPU())
	scanned := devices{}
	err := filepath.WalkDir(outer, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return gone(err)
		}
		info, err := d.Info()
		if err != nil {
			return gone(err)
		}
		below, err := filepath.Rel(outer, path)
		if err != nil {
			return err
		}
		owner := info.Sys().(*syscall.Stat_t)
		switch here := scanned.has(path, owner.Dev); {
		case !here && d.IsDir():
			return fs.SkipDir
		case !here, !d.IsDir() && !d.Type().IsRegular():
			return nil
		}
		f := File{filepath.Join(inner, below), info.Mode(), owner.Uid, owner.Gid}
		if s.Passed != nil {
			s.Passed(f)
		}
		if !d.IsDir() {
			g.Go(func() error { return s.file(path, f) })
		}
		return nil
	})
	return errors.Join(err, g.Wait())
}

func (s *Scan) file(path string, f File) error {
	in, err := os.Open(path)
	if err != nil {
		return gone(err)
	}
	defer in.Close()
	buffer, _ := s.buffers.Get().([]byte)
	if buffer == nil {
		buffer = make([]byte, 1<<20)
	}
	defer s.buffers.Put(buffer) //nolint:staticcheck // the slice's header is small compared with reading a file
	has, size, err := s.Search.InReader(in, buffer)
	if err != nil {
		return gone(fmt.Errorf("read %s: %w", path, err))
	}
	s.files.Add(1)
	s.bytes.Add(size)
	if has = append(has, s.Search.In([]byte(f.Path))...); len(has) > 0 {
		s.Found(f, has)
	}
	if IsArchive(f.Path) {
		return s.archive(path, f, buffer)
	}
	return nil
}

// gone ignores errors about files that a running server removes.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESTALE) || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

// devices maps the file systems that a scan reached to whether it searches them: the one
// where it began, and tmpfs.
type devices map[uint64]bool

func (d devices) has(path string, device uint64) bool {
	if _, known := d[device]; !known {
		var on unix.Statfs_t
		d[device] = len(d) == 0 || unix.Statfs(path, &on) == nil && on.Type == unix.TMPFS_MAGIC
	}
	return d[device]
}
