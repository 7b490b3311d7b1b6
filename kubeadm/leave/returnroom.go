package leave

import (
	"errors"
	"fmt"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/node"
)

// RoomToReturn is nil when there is room for what a rollback does between taking the
// control plane down and having it back, where there is no way but on: etcd's data is
// kept, then a snapshot of so many bytes is restored. saving are the bytes that a backup
// takes beside etcd's data before, where it has yet to be taken.
func (m Member) RoomToReturn(snapshot, saving int64) error {
	data, err := host.BytesBelow(m.Path(node.EtcdDir + "/member"))
	if err != nil || data == 0 { // it has left
		return err
	}
	left, err := host.BytesBelow(m.Path(partlyKept)) // of an interrupted run: it begins anew
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
		takes -= data // it has been moved away by then
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
