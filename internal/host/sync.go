package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Sync makes durable what programs have written on this host. kubeadm and rpm do
// not see to that themselves: in the lab a server whose power was cut seconds after
// a join had a kubelet configuration of no bytes. Only the file systems are synced
// on which hosts are changed, since sync(2) waits for a file server that is gone.
func Sync() error {
	done := map[uint64]bool{}
	for _, dir := range []string{"/", "/boot", "/etc", "/opt", "/usr", "/var", "/var/lib", "/var/lib/etcd", "/var/lib/kubelet"} {
		if err := syncFileSystem(dir, done); err != nil {
			return fmt.Errorf("sync file system of %s: %w", dir, err)
		}
	}
	return nil
}

func syncFileSystem(dir string, done map[uint64]bool) error {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	var s unix.Stat_t
	if err := unix.Fstat(int(d.Fd()), &s); err != nil || done[s.Dev] {
		return err
	}
	done[s.Dev] = true
	return unix.Syncfs(int(d.Fd()))
}
