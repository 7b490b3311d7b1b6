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

// Large measures the costs that might grow with a bundle, on a bundle of so many GB: the
// peak memory, the peak disk usage compared with the size of the bundle, and the time
// until all images can be pulled. It returns an error if a figure misses its target.
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
	m, err := measure(ctx, b.env, b.Program, "bundle", "-f", b.config, "-o", out, "--new-keys", "--progress", "json")
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

// leastFree watches the disk until ctx ends, and then sends the smallest number of free
// bytes. It starts with least.
func (b *bench) leastFree(ctx context.Context, least int64) <-chan int64 {
	result := make(chan int64, 1)
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
		result <- least
	}()
	return result
}

// free returns the free space of a file system, in bytes.
func free(dir string) (int64, error) {
	var s syscall.Statfs_t
	err := syscall.Statfs(dir, &s)
	return int64(s.Bavail) * s.Bsize, err
}
