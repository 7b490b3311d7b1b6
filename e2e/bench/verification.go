package bench

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// verification measures the reading and verifying of every byte of the bundle
// beside what this machine's processors can hash at all, from memory.
func (b *bench) verification(ctx context.Context, w io.Writer) error {
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

// hashing hashes so many bytes, a MiB at a time, on all processors.
func hashing(size int64) measured {
	const piece = 1 << 20
	began := time.Now()
	var all sync.WaitGroup
	share := size / int64(runtime.NumCPU())
	for range runtime.NumCPU() {
		all.Go(func() {
			buf := make([]byte, piece)
			for left := share; left > 0; left -= piece {
				_ = sha256.Sum256(buf)
			}
		})
	}
	all.Wait()
	return measured{took: time.Since(began)}
}
