package hostcheck

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// TestResultsBetween: auto selects an encapsulation that passes, and reports it. Problems that the installation
// fixes are not failures. Other problems are.
func TestResultsBetween(t *testing.T) {
	both := func(v netprobe.Verdict) []netprobe.Verdict {
		back := v
		v.From, v.To, back.From, back.To = 0, 1, 1, 0
		return []netprobe.Verdict{v, back}
	}
	matrix := func(sets ...[]netprobe.Verdict) *netprobe.Matrix {
		m := &netprobe.Matrix{Tried: 2, Of: 2, OneNetwork: true, Hosts: []netprobe.Host{{Name: "a", Address: netip.MustParseAddr("10.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("10.0.0.2")}}}
		for _, set := range sets {
			m.Verdicts = append(m.Verdicts, set...)
		}
		return m
	}
	vxlan := func(port int, state netprobe.State) []netprobe.Verdict {
		return both(netprobe.Verdict{Kind: netprobe.VXLANTCP, Port: port, State: state, Opens: state == netprobe.HostCloses})
	}
	size := func(bytes int) []netprobe.Verdict {
		state := netprobe.Narrow
		if bytes == 1500 {
			state = netprobe.Open
		}
		return both(netprobe.Verdict{Kind: netprobe.Size, Size: bytes, MTU: 1500, State: state})
	}
	closed := append(vxlan(8472, netprobe.NetworkCloses), vxlan(4789, netprobe.NetworkCloses)...)
	routed := func(state netprobe.State) []netprobe.Verdict {
		return both(netprobe.Verdict{Kind: netprobe.Routed, State: state})
	}
	tests := []struct {
		name      string
		m         *netprobe.Matrix
		auto      bool
		firewalld string
		fails     []string
		says      string // by encapsulation
	}{
		{"all passes", matrix(vxlan(8472, netprobe.Open), size(1500)), true, "", nil, "VXLAN on UDP 8472"},
		{"small packets only", matrix(vxlan(8472, netprobe.Narrow), size(1400)), true, "", nil, "packets of 1400 bytes between hosts"},
		{"small packets only, and no choice", matrix(vxlan(8472, netprobe.Narrow), size(1400)), false, "", []string{preflight.VXLANPath, preflight.PathMTU}, "1400"},
		{"streams break for another reason", matrix(vxlan(8472, netprobe.Narrow), size(1500)), true, "", []string{preflight.VXLANPath}, "VXLAN on UDP 8472"},
		{"the other port", matrix(vxlan(8472, netprobe.NetworkCloses), vxlan(4789, netprobe.Open), size(1500)), true, "", nil, "VXLAN on UDP 4789"},
		{
			"the other port, and no choice",
			matrix(vxlan(8472, netprobe.NetworkCloses), vxlan(4789, netprobe.Open), size(1500)),
			false,
			"",
			[]string{preflight.VXLANPath, preflight.Encapsulation},
			"allow UDP to port 8472 between these hosts",
		},
		{"no tunnel passes", matrix(closed, routed(netprobe.Open), size(1500)), true, "", nil, "no tunnel"},
		{
			"nor do pods' addresses",
			matrix(closed, routed(netprobe.NetworkCloses), size(1500)),
			true,
			"",
			[]string{preflight.VXLANPath, preflight.Encapsulation},
			"Without a tunnel, packets with pod addresses do not pass",
		},
		{"pods' addresses are not needed", matrix(vxlan(8472, netprobe.Open), routed(netprobe.NetworkCloses), size(1500)), true, "", nil, "VXLAN on UDP 8472"},
		{"firewalld is opened", matrix(vxlan(8472, netprobe.HostCloses), size(1500)), true, "", nil, "VXLAN on UDP 8472"},
		{
			"another filter is not opened",
			matrix(both(netprobe.Verdict{Kind: netprobe.VXLANTCP, Port: 8472, State: netprobe.HostCloses, Rule: "drop"}), size(1500)),
			true,
			"",
			[]string{preflight.VXLANPath, preflight.Encapsulation},
			"does not pass",
		},
		{"firewalld is not changed", matrix(vxlan(8472, netprobe.HostCloses), size(1500)), true, settings.LeaveFirewalld, []string{preflight.VXLANPath, preflight.Encapsulation}, "does not pass"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := &config.Cluster{Network: cni.Config{Plugin: cni.Flannel, Encapsulation: cni.Auto, Port: 8472}}
			c.HostSettings.Firewalld = test.firewalld
			can := netprobe.Options{Ports: []int{8472}, OpensFirewall: test.firewalld != settings.LeaveFirewalld}
			if test.auto {
				can.Ports, can.Native = netprobe.Ports(8472), true
			}
			between := resultsBetween(c, test.m, can)
			failed := map[string]bool{}
			for id, r := range between {
				failed[id] = r.Status == preflight.Fail
			}
			for _, id := range test.fails {
				if !failed[id] {
					t.Errorf("%s passes: %+v", id, between[id])
				}
				delete(failed, id)
			}
			for id, is := range failed {
				if is {
					t.Errorf("%s fails: %+v", id, between[id])
				}
			}
			if !strings.Contains(between[preflight.Encapsulation].Found, test.says) {
				t.Errorf("encapsulation says %q, want %q", between[preflight.Encapsulation].Found, test.says)
			}
		})
	}
}

// TestResultsCrossSubnet: within a subnet there is no tunnel, so pods' addresses must pass.
func TestResultsCrossSubnet(t *testing.T) {
	for state, fails := range map[netprobe.State]bool{netprobe.Open: false, netprobe.NetworkCloses: true} {
		m := &netprobe.Matrix{Tried: 1, Of: 2, Hosts: []netprobe.Host{{Name: "a"}, {Name: "b"}}, Verdicts: []netprobe.Verdict{
			{From: 0, To: 1, Kind: netprobe.Routed, State: state}, {From: 0, To: 1, Kind: netprobe.VXLANTCP, Port: 4789, State: netprobe.Open},
		}}
		c := &config.Cluster{Network: cni.Config{Plugin: cni.Calico, Encapsulation: cni.CrossSubnet, Port: 4789}}
		got := resultsBetween(c, m, netprobe.Options{Ports: []int{4789}})[preflight.PortsReach]
		if (got.Status == preflight.Fail) != fails {
			t.Errorf("%s: %+v", state, got)
		}
	}
}

// TestPodsAreTried: hosts do not send packets with pods' addresses if all pods' packets use a tunnel.
func TestPodsAreTried(t *testing.T) {
	for _, test := range []struct {
		network cni.Config
		want    bool
	}{
		{cni.Config{Plugin: cni.Flannel, Encapsulation: cni.Auto}, true},
		{cni.Config{Plugin: cni.Flannel, Encapsulation: cni.VXLAN}, false},
		{cni.Config{Plugin: cni.Calico, Encapsulation: cni.Auto}, false},
		{cni.Config{Plugin: cni.Calico, Encapsulation: cni.CrossSubnet}, true},
		{cni.Config{Plugin: cni.Cilium, Encapsulation: cni.Native}, true},
	} {
		c := &config.Cluster{Network: test.network}
		c.Kubernetes.PodSubnet = "10.244.0.0/16"
		if got := pods(c); got.IsValid() != test.want {
			t.Errorf("%s, %s: %s", test.network.Plugin, test.network.Encapsulation, got)
		}
	}
}

// TestIdleIsWanted: the required time in a report is not the time after which the load balancer failed.
func TestIdleIsWanted(t *testing.T) {
	for want, idles := range map[string][]*netprobe.Idle{
		"not measured":                             {nil},
		"kept open for 300 s without traffic":      {{For: 35, Result: netprobe.NoReply, Ended: true}},
		"kept open for 60 s without traffic; five": {{For: 60, Result: netprobe.Answered}, {For: 90, Result: netprobe.NoReply}},
		"kept open for 1800 s without traffic":     {{For: 1800, Result: netprobe.Answered}},
	} {
		m := &netprobe.Matrix{VIPs: map[int]*netprobe.VIP{}}
		for i, one := range idles {
			m.VIPs[i] = &netprobe.VIP{Idle: one}
		}
		if got := idle(m); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestBalancedBy: an address on a control-plane host connects only to that host.
func TestBalancedBy(t *testing.T) {
	c := &config.Cluster{}
	c.Kubernetes.ControlPlaneEndpoint = "10.0.0.10:6443"
	hosts := []netprobe.Host{{Name: "cp1", ControlPlane: true}, {Name: "cp2", ControlPlane: true}}
	for want, vips := range map[string]map[int]*netprobe.VIP{
		"not measured": nil,
		"10.0.0.10:6443 connects all hosts to every contr": {0: {Hits: map[int]int{0: 2, 1: 2}}},
		"10.0.0.10:6443 connects all hosts to cp1, which ": {0: {Hits: map[int]int{0: 2}, Own: true}, 1: {Hits: map[int]int{0: 2}}},
	} {
		got := resultsBetween(c, &netprobe.Matrix{Hosts: hosts, VIPs: vips}, netprobe.Options{Ports: []int{8472}})[preflight.LoadBalancer]
		if got.Status != preflight.Pass || !strings.HasPrefix(got.Found, want) {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}

// TestResultsOfNothing: a check without a measurement does not pass.
func TestResultsOfNothing(t *testing.T) {
	m := &netprobe.Matrix{Tried: 2, Of: 2, Hosts: []netprobe.Host{{Name: "a"}, {Name: "b"}}, Verdicts: []netprobe.Verdict{
		{From: 0, To: 1, Kind: netprobe.Size, MTU: 1500, State: netprobe.NetworkCloses}, {From: 1, To: 0, Kind: netprobe.Size, Size: 1500, MTU: 1500, State: netprobe.Open},
	}}
	can := netprobe.Options{Ports: []int{8472}}
	between := resultsBetween(&config.Cluster{}, m, can)
	if got := between[preflight.PathMTU]; got.Status != preflight.Warn || !strings.Contains(got.Found, "no packet of any size arrived: from a") {
		t.Errorf("no packet arrives: %+v", got)
	}
	if got := between[preflight.ClockSkew]; got.Status != preflight.Skip {
		t.Errorf("no clock was compared: %+v", got)
	}
	m.Skews = []netprobe.Skew{{From: 0, To: 1, Ahead: -3 * time.Millisecond}}
	if got := resultsBetween(&config.Cluster{}, m, can)[preflight.ClockSkew]; got.Status != preflight.Pass || got.Found != "within 3ms; compared in 1 of 2 directions" {
		t.Errorf("one was: %+v", got)
	}
}

// TestWantIsNoMeasurement: the desired state of a failed check is not the bad number that was measured.
func TestWantIsNoMeasurement(t *testing.T) {
	lossy := netprobe.Train{Size: 1280, Sent: 1000, Arrived: 437}
	m := &netprobe.Matrix{
		Tried: 2, Of: 2, OneNetwork: true,
		Hosts: []netprobe.Host{{Name: "a", ControlPlane: true}, {Name: "b", ControlPlane: true}},
		Skews: []netprobe.Skew{{From: 0, To: 1, Ahead: time.Hour}},
		Paths: []netprobe.Path{{From: 0, To: 1, Trains: []netprobe.Train{lossy, lossy}, Latency: &netprobe.Latency{Median: 987 * time.Millisecond}}},
	}
	between := resultsBetween(&config.Cluster{Network: cni.Config{Plugin: cni.Flannel, Port: 8472}}, m, netprobe.Options{Ports: []int{8472}})
	for id, bad := range map[string]string{preflight.ClockSkew: "1h0m0s", preflight.PathQuality: "437", preflight.EtcdLatency: "987"} {
		r := between[id]
		if r.Status != preflight.Fail || r.Want == "" || strings.Contains(r.Want, bad) || strings.Contains(r.Want, "paths") {
			t.Errorf("%s wants the measured %s: %+v", id, bad, r)
		}
	}
}
