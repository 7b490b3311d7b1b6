package kubeadm

import (
	"errors"
	"fmt"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// RoomToReturn is nil when there is room for what a rollback does between taking the
// control plane down and having it back, where there is no way but on: etcd's data is
// kept, then a snapshot of so many bytes is restored.
func (m Machine) RoomToReturn(snapshot int64) error {
	data, err := m.EtcdBytes()
	if err != nil || data == 0 { // it has left
		return err
	}
	keeps, restores := m.path(stateDir), m.path(etcdDir)
	one, err := host.SameFilesystem(keeps, restores)
	if err != nil {
		return err
	}
	takes := RestoreTakes(snapshot)
	if !one {
		takes -= data // it has been moved away by then
	}
	return errors.Join(room(keeps, data, "keeping etcd's data"), room(restores, takes, "restoring etcd"))
}

func room(dir string, takes int64, what string) error {
	free, err := host.FreeSpace(dir)
	if err != nil || free >= takes {
		return err
	}
	return fmt.Errorf("%s has %s free, and %s takes %s", dir, ui.Size(free), what, ui.Size(takes))
}
