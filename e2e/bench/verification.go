package bench

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
)

// verification compares the verification of every byte of the bundle with a plain loop that reads the bundle's files and
// hashes them on all CPUs. No program that reads each byte is faster.
func (b *bench) verification(ctx context.Context, w *figures) error {
	dir := filepath.Join(b.ours(), "bank")
	size, err := sizeOf(dir)
	if err != nil {
		return err
	}
	m, err := rounds(func() (measured, error) {
		return measure(ctx, b.env, b.Program, "inspect", dir, "--full", "--progress", "json")
	}, func() (measured, error) { return readingAndHashing(dir) })
	if err != nil {
		return err
	}
	perGB("verify-every-byte", m[0].took, size, "read-and-hash", m[1].took, size, 1.3).print(w)
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

// readingAndHashing reads the files of a directory and hashes them, a few MiB at a time on each
// CPU and in pieces that fit into its cache.
func readingAndHashing(dir string) (measured, error) {
	const share, piece = 16 << 20, 64 << 10
	entries, err := os.ReadDir(dir)
	if err != nil {
		return measured{}, err
	}
	began := time.Now()
	var all errgroup.Group
	all.SetLimit(runtime.NumCPU())
	for _, e := range entries {
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return measured{}, errors.Join(err, all.Wait())
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return measured{}, errors.Join(err, all.Wait())
		}
		for at := int64(0); at < info.Size(); at += share {
			all.Go(func() error {
				_, err := io.CopyBuffer(sha256.New(), io.NewSectionReader(f, at, share), make([]byte, piece))
				return err
			})
		}
	}
	err = all.Wait()
	return measured{took: time.Since(began)}, err
}
