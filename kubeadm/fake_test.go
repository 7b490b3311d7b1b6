package kubeadm

import (
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
)

// NewFake is a host that runs systemd, with an empty file system.
func NewFake(t *testing.T) (*hosttest.Fake, Machine) {
	t.Helper()
	f, m := hosttest.New(t)
	return f, Machine{Machine: m}
}
