package kubeadm

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// RoomToReturn is nil when there is room for what a rollback does between taking the
// control plane down and having it back, where there is no way but on: etcd's data is
// kept, then a snapshot of so many bytes is restored. saving are the bytes that a backup
// takes beside etcd's data before, where it has yet to be taken.
func (m Machine) RoomToReturn(snapshot, saving int64) error {
	data, err := m.bytesBelow(etcdDir + "/member")
	if err != nil || data == 0 { // it has left
		return err
	}
	left, err := m.bytesBelow(partlyKept) // of an interrupted run: it begins anew
	if err != nil {
		return err
	}
	keeps, restores := m.path(stateDir), m.path(etcdDir)
	one, err := host.SameFilesystem(keeps, restores)
	if err != nil {
		return err
	}
	takes := RestoreTakes(snapshot)
	if one {
		takes += saving - left
	} else {
		takes -= data // it has been moved away by then
	}
	return errors.Join(room(keeps, data+saving-left, "keeping etcd's data"), room(restores, takes, "restoring etcd"))
}

// bytesBelow are those of all files below a directory; 0 where it is not.
func (m Machine) bytesBelow(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(m.path(dir), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return host.IgnoreMissing(err)
		}
		info, err := d.Info()
		if err != nil { // a log that etcd has just finished with
			return host.IgnoreMissing(err)
		}
		bytes += info.Size()
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("find out what %s takes: %w", dir, err)
	}
	return bytes, nil
}

func room(dir string, takes int64, what string) error {
	free, err := host.FreeSpace(dir)
	if err != nil || free >= takes {
		return err
	}
	return fmt.Errorf("%s has %s free, and %s takes %s", dir, ui.Size(free), what, ui.Size(takes))
}
