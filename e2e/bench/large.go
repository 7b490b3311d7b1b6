package bench

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"syscall"
	"time"

	"airgap.dev/airgap/e2e/upstream"
)

// Large measures what might grow with a bundle, on one of so many GB: the memory,
// the disk that it takes at any moment beside the bundle's own bytes, and how long
// it takes until all of it can be pulled. It fails where a figure misses its target.
func Large(ctx context.Context, program string, gigabytes int, out, log io.Writer) error {
	image := func(ctx context.Context, cache string, log io.Writer) ([]string, error) {
		name, err := upstream.LargeImage(ctx, cache, int64(gigabytes)*1e9, log)
		return []string{name}, err
	}
	w := &figures{out: out}
	return w.verdict(prepared(ctx, program, log, image, func(b *bench, images []string) error {
		if err := b.prepare(ctx, images); err != nil {
			return err
		}
		return b.large(ctx, w)
	}))
}

func (b *bench) large(ctx context.Context, w *figures) error {
	out := filepath.Join(b.Work, "large")
	before, err := free(b.Work)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	least := b.leastFree(watching, before)
	m, err := measure(ctx, b.env, b.Program, "bundle", "-f", b.config, "-o", out, "--progress", "json")
	stop()
	taken := before - <-least
	if err != nil {
		return err
	}
	after, err := free(b.Work)
	if err != nil {
		return err
	}
	size := fmt.Sprintf("bundle-%.0fGB-", float64(before-after)/1e9)
	resident(size+"peak-rss", m).print(w)
	took, err := b.servedIn(ctx, out)
	if err != nil {
		return err
	}
	seconds(size+"pullable-in-place", took, "limit", time.Second, 1.0).print(w)
	figure{size + "peak-disk", float64(taken) / 1e9, "GB", fmt.Sprintf("bundle=%.2fGB", float64(before-after)/1e9), float64(taken) / float64(before-after), 1.01}.print(w)
	return nil
}

// leastFree watches the disk until ctx ends, and then tells the fewest bytes
// that were free.
func (b *bench) leastFree(ctx context.Context, least int64) <-chan int64 {
	told := make(chan int64, 1)
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			if n, err := free(b.Work); err == nil {
				least = min(least, n)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		told <- least
	}()
	return told
}

// free is what a file system has left, bytes.
func free(dir string) (int64, error) {
	var s syscall.Statfs_t
	err := syscall.Statfs(dir, &s)
	return int64(s.Bavail) * s.Bsize, err
}
