package nodesteps

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/kubeadm/runtime"
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

// TestHostPort: the port of the test must be free where the pods have it.
func TestHostPort(t *testing.T) {
	want := facts.Port{Number: 10479, Protocol: "tcp", For: "hostPort test", Redirected: true}
	for _, test := range []struct {
		settings string
		facts    runtime.Facts
		is       bool
	}{
		{"", runtime.Facts{OS: "el9"}, true},
		{"network: {plugin: calico}", runtime.Facts{OS: "el8"}, true},
		{"network: {plugin: cilium}", runtime.Facts{OS: "el9"}, false},
		{"network: {hostPortTest: never}", runtime.Facts{OS: "el8"}, false},
		{"", runtime.Facts{OS: "el10", Kernel: "6.12.0-55.el10.x86_64"}, false},
	} {
		s := sitetest.SettingsSite(t, test.settings)
		s.Facts = test.facts
		if slices.ContainsFunc(NetworkLimits(s).Ports, func(p settings.Port) bool { return p.First == want.Number }) {
			t.Errorf("%s: outgoing connections may use the port", test.settings)
		}
		if has := slices.Contains(PortsToHold(s), want); has != test.is || (HostPort(s) != 0) != test.is {
			t.Errorf("%s, %+v: must be free: %v, pods have it: %d", test.settings, test.facts, has, HostPort(s))
		}
	}
}
