package agent

import (
	"testing"

	"airgap.dev/airgap/preflight/netprobe"
)

// TestInterfaceReturns: an interface that goes down for a moment ends no capture. Only a capture sees a
// packet with a pod address.
func TestInterfaceReturns(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	n.listening = func() {
		n.run("", "ip", "-n", n.space(1), "link", "set", "eth0", "down")
		n.run("", "ip", "-n", n.space(1), "link", "set", "eth0", "up")
	}
	m := n.matrix(n.plan())
	if got := result(t, m, 0, 1, netprobe.Routed, 0); got.State != netprobe.Open || len(m.ListenErrors) > 0 {
		t.Errorf("%+v %+v", got, m.ListenErrors)
	}
}
