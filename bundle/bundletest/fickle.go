package bundletest

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Fickle is a bundle's directory as a stick gives it that means harm: a byte that was
// right once is another one later.
type Fickle struct {
	Dir string
	// Lies decides whether the nth read of a file, from 1, gives other bytes.
	Lies func(name string, nth int) bool

	mu    sync.Mutex
	reads map[string]int
}

// Open opens a file of the directory.
func (f *Fickle) Open(name string) (fs.File, error) {
	file, err := os.Open(filepath.Join(f.Dir, name))
	if err != nil {
		return nil, err
	}
	return &fickleFile{File: file, of: f, name: name}, nil
}

func (f *Fickle) lies(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reads == nil {
		f.reads = map[string]int{}
	}
	f.reads[name]++
	return f.Lies(name, f.reads[name])
}

type fickleFile struct {
	*os.File

	of   *Fickle
	name string
}

func (f *fickleFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.spoil(p[:n])
	return n, err
}

func (f *fickleFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.spoil(p[:n])
	return n, err
}

func (f *fickleFile) spoil(p []byte) {
	if f.of.lies(f.name) {
		for i := range p {
			p[i] ^= 1
		}
	}
}
