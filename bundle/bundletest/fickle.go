package bundletest

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Fickle is the directory of a bundle on a malicious USB drive: a byte that was correct
// at the first read can be different at a later read.
type Fickle struct {
	Dir string
	// Lies reports whether the nth read of a file, from 1, returns wrong bytes.
	Lies func(name string, nth int) bool

	mu    sync.Mutex
	reads map[string]int
}

// Open opens a file with faults.
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
