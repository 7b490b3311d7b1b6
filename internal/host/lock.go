package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Lock waits for the flock of the file or directory at path, and holds it until
// release, or until the process ends.
func Lock(ctx context.Context, path string) (release func(), err error) {
	f, err := os.Open(path)
	if err == nil {
		err = flock(ctx, f, unix.LOCK_EX, func() {})
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

// AwaitLock returns when no process holds the flock of the file at path. A missing file
// is not locked. It calls waiting once if it must wait, for a message.
func AwaitLock(ctx context.Context, path string, waiting func()) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("wait for lock: %w", err)
	}
	defer f.Close()
	return flock(ctx, f, unix.LOCK_SH, waiting)
}

// flock polls: a waiting call could not be interrupted.
func flock(ctx context.Context, f *os.File, how int, waiting func()) error {
	for said := false; ; said = true {
		err := TryLock(f, how)
		if !errors.Is(err, ErrLocked) {
			return err
		}
		if !said {
			waiting()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
