package bench

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// verification measures the reading and verifying of every byte of the bundle
// beside what this machine's processors can hash at all, from memory.
func (b *bench) verification(ctx context.Context, w *figures) error {
	dir := filepath.Join(b.ours(), "bank")
	size, err := sizeOf(dir)
	if err != nil {
		return err
	}
	m, err := rounds(func() (measured, error) {
		return measure(ctx, b.env, b.Program, "inspect", dir, "--full", "--progress", "json")
	}, func() (measured, error) { return hashing(size), nil })
	if err != nil {
		return err
	}
	perGB("verify-every-byte", m[0].took, size, "sha256-limit", m[1].took, size, 1.3).print(w)
	return nil
}

func sizeOf(dir string) (size int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}

// hashing hashes so many bytes, a MiB at a time, on all processors. They come from memory
// as a bundle's do, since no processor's cache holds as many different ones.
func hashing(size int64) measured {
	const piece = 1 << 20
	bytes := make([]byte, 256<<20)
	for i := 0; i < len(bytes); i += os.Getpagesize() {
		bytes[i] = 1
	}
	began := time.Now()
	var all sync.WaitGroup
	share := size / int64(runtime.NumCPU())
	for n := range int64(runtime.NumCPU()) {
		all.Go(func() {
			for at := n * share; at < (n+1)*share; at += piece {
				from := at / piece * piece % int64(len(bytes))
				_ = sha256.Sum256(bytes[from : from+piece])
			}
		})
	}
	all.Wait()
	return measured{took: time.Since(began)}
}
