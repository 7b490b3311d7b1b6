package host

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// The writes are those of etcd's log, as its documentation measures a disk with fio:
// 22 MiB in blocks of 2300 bytes, each of them safe before the next.
const (
	syncBlock = 2300
	syncTotal = 22 << 20
)

// SyncLatency measures how long a small write takes to be safe in dir: the time within
// which 99 of 100 were. It stops after most, so that a slow disk is found out sooner, and
// leaves nothing behind, whatever happens to the process.
func SyncLatency(ctx context.Context, dir string, most time.Duration) (time.Duration, error) {
	f, err := unnamed(dir)
	if err != nil {
		return 0, fmt.Errorf("measure the disk of %s: %w", dir, err)
	}
	defer f.Close()
	block := make([]byte, syncBlock)
	var took []time.Duration
	for end := time.Now().Add(most); len(took) < syncTotal/syncBlock && time.Now().Before(end) && ctx.Err() == nil; {
		start := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, fmt.Errorf("measure the disk of %s: %w", dir, err)
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return 0, fmt.Errorf("measure the disk of %s: %w", dir, err)
		}
		took = append(took, time.Since(start))
	}
	if len(took) == 0 {
		return 0, ctx.Err()
	}
	slices.Sort(took)
	return took[len(took)*99/100], ctx.Err()
}

// unnamed is a file without a name, or one whose name is gone at once where the file
// system has none of the former.
func unnamed(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), dir), nil
	}
	f, err := os.CreateTemp(dir, ".airgap-disk-*")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}
