package nodesteps

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/preflight/facts"
)

// TestPortsToHold leaves out the NodePorts, where nothing listens.
func TestPortsToHold(t *testing.T) {
	ports := PortsToHold(sitetest.SettingsSite(t, ""))
	if !slices.Contains(ports, facts.Port{Number: 10250, Protocol: "tcp", For: "kubelet"}) ||
		slices.ContainsFunc(ports, func(p facts.Port) bool { return p.Number >= 30000 || strings.Contains(p.For, "etcd") }) {
		t.Errorf("a worker holds %v", ports)
	}
}
