package site

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Scratch makes a directory for this process alone and says how to remove it.
// A process that is killed leaves its directory behind: the next one takes it
// away, told by the lock that nobody holds any more.
func Scratch(name string) (dir string, remove func(), err error) {
	return ScratchIn(os.TempDir(), name)
}

// ScratchIn is Scratch in the given directory.
func ScratchIn(parent, name string) (dir string, remove func(), err error) {
	RemoveAbandoned(filepath.Join(parent, "airgap-"+name+"-"))
	dir, err = os.MkdirTemp(parent, "airgap-"+name+"-*")
	if err != nil {
		return "", nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	held, err := claim(dir)
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), os.RemoveAll(dir))
	}
	return dir, func() { os.RemoveAll(dir); held.Close() }, nil
}

// RemoveAbandoned is only tidying up: what it cannot remove stays.
func RemoveAbandoned(prefix string) {
	found, _ := filepath.Glob(prefix + "*")
	for _, dir := range found {
		if held, err := claim(dir); err == nil {
			_ = os.RemoveAll(dir)
			held.Close()
		}
	}
}

// claim takes the lock of a directory that is this user's own.
func claim(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), dir)
	var owner unix.Stat_t
	err = unix.Fstat(fd, &owner)
	if err == nil && int(owner.Uid) != os.Geteuid() {
		err = unix.EPERM
	}
	if err == nil {
		err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
