package host

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// AsOwner does work with the rights to files of the first user other than root on the
// way to path, where this process is root's: a link of that user's then leads to nothing
// that this user could not read. work does its file operations itself, not in another
// goroutine.
func AsOwner(path string, work func() error) error {
	uid, gid := ownerOnTheWay(path)
	if os.Geteuid() != 0 || uid == 0 {
		return work()
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread, with its rights, ends here
		if err := limitThread(uid, gid); err != nil {
			done <- err
			return
		}
		done <- work()
	}()
	return <-done
}

func limitThread(uid, gid int) error {
	return errors.Join(unix.Setgroups(nil), unix.Setfsgid(gid), unix.Setfsuid(uid))
}

// ownerOnTheWay returns 0, 0 if only root controls the path.
func ownerOnTheWay(path string) (uid, gid int) {
	if dir := filepath.Dir(path); dir != path {
		if uid, gid = ownerOnTheWay(dir); uid != 0 {
			return uid, gid
		}
	}
	info, err := os.Lstat(path)
	if err != nil {
		return 0, 0
	}
	if owner, is := info.Sys().(*syscall.Stat_t); is {
		return int(owner.Uid), int(owner.Gid)
	}
	return 0, 0
}
