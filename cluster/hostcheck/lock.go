package hostcheck

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/cluster/detach"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
)

// LockHost takes the lock of this host, so that only one command at a time changes it. The kernel releases the lock
// when the process exits.
func LockHost() (release func(), err error) { return lockAt(site.LockFile) }

func lockAt(file string) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // the path of the lock is fixed
		return nil, fmt.Errorf("lock this host: %w", err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the path of the lock is fixed
	if err != nil {
		return nil, fmt.Errorf("lock this host: %w", err)
	}
	err = host.TryLock(f, unix.LOCK_EX)
	if err == nil && !isAt(f, file) { // a reset has just removed the file
		f.Close()
		return lockAt(file)
	}
	if errors.Is(err, host.ErrLocked) {
		f.Close()
		return nil, busy(file)
	}
	if err != nil {
		f.Close()
		return nil, notLocked(err)
	}
	return func() { f.Close() }, nil
}

// HostAtRest returns an error while another command changes this host. Unlike LockHost it creates no file.
func HostAtRest() error {
	f, err := os.Open(site.LockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check the lock of this host: %w", err)
	}
	defer f.Close()
	if err := host.TryLock(f, unix.LOCK_SH); errors.Is(err, host.ErrLocked) {
		return busy(site.LockFile)
	} else if err != nil {
		return notLocked(err)
	}
	return nil
}

// notLocked is the error of a lock that failed although no other command holds it.
func notLocked(err error) error {
	err = fmt.Errorf("lock this host: %w", err)
	if _, is := errors.AsType[*host.NoLocksError](err); is {
		return advice.Add(err, "mount a local file system at %s, or start rpc.statd if it is NFS", filepath.Dir(site.LockFile))
	}
	return err
}

// ErrBusy means that another command has the lock of this host.
var ErrBusy = errors.New("another airgap command is changing this host")

func busy(file string) error {
	if about, next := detach.Running(host.Machine{Host: host.Local{}}); about != "" {
		return advice.Add(fmt.Errorf("%w: %s", ErrBusy, about), "%s", next)
	}
	if h := holderOf(file); h.pid != 0 {
		return advice.Add(fmt.Errorf("%w: %s", ErrBusy, h), "wait for it; ps -fp %d shows it", h.pid)
	}
	return advice.Add(ErrBusy, "wait for it; fuser -v %s shows its process", file)
}

// isAt reports whether the open file is the one at path.
func isAt(f *os.File, path string) bool {
	here, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path) //nolint:gosec // the path of the lock is fixed
	return err == nil && os.SameFile(here, there)
}
