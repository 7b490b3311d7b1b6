package leave

import (
	"errors"
	"fmt"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/node"
)

// RollbackSpace returns nil if the disk has space for a rollback, which cannot stop between the
// removal and the restore of the control plane: it copies etcd's data and then restores a
// snapshot. snapshot is the snapshot's size in bytes; saving is the size in bytes of a backup that
// is taken before, 0 if it exists.
func (m Member) RollbackSpace(snapshot, saving int64) error {
	data, err := host.BytesBelow(m.Path(node.EtcdDir + "/member"))
	if err != nil || data == 0 { // the host has already left the cluster
		return err
	}
	left, err := host.BytesBelow(m.Path(partlyKept)) // of an interrupted run, which starts again
	if err != nil {
		return err
	}
	keeps, restores := m.Path(host.StateDir), m.Path(node.EtcdDir)
	one, err := host.SameFilesystem(keeps, restores)
	if err != nil {
		return err
	}
	takes := etcd.RestoreTakes(snapshot)
	if one {
		takes += saving - left
	} else {
		takes -= data // moved to the other file system before
	}
	return errors.Join(room(keeps, data+saving-left, "keeping etcd's data"), room(restores, takes, "restoring etcd"))
}

func room(dir string, takes int64, what string) error {
	free, err := host.FreeSpace(dir)
	if err != nil || free >= takes {
		return err
	}
	return fmt.Errorf("%s has %s free, and %s takes %s", dir, ui.Size(free), what, ui.Size(takes))
}
