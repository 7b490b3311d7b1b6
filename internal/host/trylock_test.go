package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTryLock: only a lock of another process is ErrLocked. A file system without locks has its own error.
func TestTryLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second := open(), open()
	if err := TryLock(first, unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := TryLock(second, unix.LOCK_SH); !errors.Is(err, ErrLocked) {
		t.Errorf("a held lock: %v", err)
	}
	for _, errno := range []error{unix.ENOLCK, unix.ENOSYS, unix.EOPNOTSUPP} {
		err := lockFault(path, errno)
		if _, none := errors.AsType[*NoLocksError](err); !none || errors.Is(err, ErrLocked) || !errors.Is(err, errno) || !strings.Contains(err.Error(), "does not support locks") {
			t.Errorf("%v: %v", errno, err)
		}
	}
	if err := lockFault(path, unix.EBADF); err == nil || errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("another failure: %v", err)
	}
}

// TestModeHint: the way to the mode 0600 depends on the file system.
func TestModeHint(t *testing.T) {
	for kind, want := range map[string]string{
		"":      `run chmod 600 "/k"; in a CI job, run umask 077`,
		"NFS":   `run chmod 600 "/k"`,
		"9p":    "/etc/wsl.conf",
		"drvfs": `install -m 600 "/k" ~/`,
		"FAT":   "chmod has no effect on FAT",
	} {
		if got := (&ModeError{"/k", 0o644, kind}).Hint(); !strings.Contains(got, want) {
			t.Errorf("%q: %s", kind, got)
		}
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := ReadPrivate(path)
	refused, is := errors.AsType[*ModeError](fmt.Errorf("load: %w", err))
	if !is || refused.Path != path || refused.Mode != 0o644 {
		t.Errorf("%v", err)
	}
}
