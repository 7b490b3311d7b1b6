package host

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrLocked means that another process holds a lock.
var ErrLocked = errors.New("another process holds the lock")

// NoLocksError means that the file system cannot lock files, as NFS without its lock daemon and
// the drives of Windows in WSL. It says nothing about other processes.
type NoLocksError struct {
	Path       string
	FileSystem string // its kind; "" if unknown
	Cause      error
}

func (e *NoLocksError) Error() string {
	kind := "its file system"
	if e.FileSystem != "" {
		kind += " (" + e.FileSystem + ")"
	}
	return fmt.Sprintf("lock %s: %s does not support locks: %v", e.Path, kind, e.Cause)
}

func (e *NoLocksError) Unwrap() error { return e.Cause }

// TryLock takes the flock of an open file or directory, LOCK_EX or LOCK_SH, and does not wait.
// The error is ErrLocked, a *NoLocksError, or another failure.
func TryLock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return lockFault(f.Name(), err)
		}
	}
}

func lockFault(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return ErrLocked
	case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
		return &NoLocksError{path, FileSystemOf(path), err}
	}
	return fmt.Errorf("lock %s: %w", path, err)
}
