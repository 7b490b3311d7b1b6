package bundle

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"sort"
	"time"
)

// FS is the bundle as a file system. Its files are io.ReaderAt and io.Seeker. They have
// no time, so that no client uses a cached old copy.
func (b *Bundle) FS() fs.FS { return b.files }

// files are contents as a file system.
type files struct {
	byPath map[string]*Content
	dirs   map[string][]fs.DirEntry
}

func newFiles(entries []Entry, from *chunks) files {
	f := files{byPath: make(map[string]*Content, len(entries))}
	for _, e := range entries {
		f.byPath[e.Path] = &Content{entry: e, chunks: from}
	}
	f.list()
	return f
}

// list creates every directory, sorted by name.
func (s *files) list() {
	s.dirs = map[string][]fs.DirEntry{".": nil}
	for name, c := range s.byPath {
		addToTree(s.dirs, name, info{name: path.Base(name), size: c.Size()})
	}
	for _, entries := range s.dirs {
		sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	}
}

func (s files) open(path string) (*Content, error) {
	c, ok := s.byPath[path]
	if !ok {
		return nil, fmt.Errorf("find %s in bundle: %w", path, fs.ErrNotExist)
	}
	return c, nil
}

func (s files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if entries, ok := s.dirs[name]; ok {
		return &openDir{info: info{name: path.Base(name), dir: true}, entries: entries}, nil
	}
	f, err := s.open(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openFile{Reader: f.Reader(), info: info{name: path.Base(name), size: f.Size()}}, nil
}

func addToTree(tree map[string][]fs.DirEntry, name string, i info) {
	dir := path.Dir(name)
	if _, known := tree[dir]; !known {
		addToTree(tree, dir, info{name: path.Base(dir), dir: true})
	}
	tree[dir] = append(tree[dir], fs.FileInfoToDirEntry(i))
}

type openFile struct {
	*Reader

	info info
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	info    info
	entries []fs.DirEntry // not yet read
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: fs.ErrInvalid}
}

func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(d.entries) {
		if n > 0 && len(d.entries) == 0 {
			return nil, io.EOF
		}
		n = len(d.entries)
	}
	read := d.entries[:n:n]
	d.entries = d.entries[n:]
	return read, nil
}

type info struct {
	name string
	size int64
	dir  bool
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.dir }
func (i info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
