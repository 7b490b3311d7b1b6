package site

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/host"
)

// Scratch creates a temporary directory for this process and returns a function that removes it. A killed
// process leaves its directory behind. The next call with this name removes it, because no process has its lock.
func Scratch(name string) (dir string, remove func(), err error) {
	return ScratchIn(os.TempDir(), name)
}

// ScratchIn is Scratch in the given directory.
func ScratchIn(parent, name string) (dir string, remove func(), err error) {
	RemoveAbandoned(filepath.Join(parent, "airgap-"+name+"-"))
	dir, err = os.MkdirTemp(parent, "airgap-"+name+"-*")
	if err != nil {
		return "", nil, fmt.Errorf("create a temporary directory: %w", err)
	}
	held, err := claim(dir)
	if _, noLocks := errors.AsType[*host.NoLocksError](err); noLocks { // RemoveAbandoned leaves such directories alone
		return dir, func() { _ = os.RemoveAll(dir) }, nil
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), os.RemoveAll(dir))
	}
	return dir, func() { os.RemoveAll(dir); held.Close() }, nil
}

// RemoveAbandoned removes the directories with this prefix that no process has locked. It ignores errors.
func RemoveAbandoned(prefix string) {
	found, _ := filepath.Glob(prefix + "*")
	for _, dir := range found {
		if held, err := claim(dir); err == nil {
			_ = os.RemoveAll(dir)
			held.Close()
		}
	}
}

// claim locks a directory. It returns an error if the directory belongs to another user.
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
		err = host.TryLock(f, unix.LOCK_EX)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
