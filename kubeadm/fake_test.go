package kubeadm

import (
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/leave"
)

// newFake is a host that runs systemd, with an empty file system.
func newFake(t *testing.T) (*hosttest.Fake, Machine) {
	t.Helper()
	f, m := hosttest.New(t)
	return f, Machine{Member: leave.Member{Machine: m}}
}
