package hostcheck

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// twoSites has two control-plane hosts with this round trip between them.
func twoSites(trip time.Duration, times kubeadm.EtcdTimes) (*site.Site, *netprobe.Matrix) {
	nodes := []config.Node{{Name: "a", Address: "10.0.0.1", Roles: []config.Role{config.ControlPlane}}, {Name: "b", Address: "10.0.1.1", Roles: []config.Role{config.ControlPlane}}}
	c := &config.Cluster{Name: "bank", Nodes: nodes, Network: cni.Config{Plugin: cni.Flannel, Encapsulation: cni.VXLAN, Port: 8472}, Kubernetes: kubeadm.Config{Etcd: times}}
	m := &netprobe.Matrix{Tried: 2, Of: 2, Paths: []netprobe.Path{{From: 0, To: 1, Latency: &netprobe.Latency{Median: trip, P99: 2 * trip}}}}
	for _, n := range nodes {
		m.Hosts = append(m.Hosts, netprobe.Host{Name: n.Name, Address: netip.MustParseAddr(n.Address), ControlPlane: true})
	}
	return &site.Site{Config: c, Node: nodes[0], Index: &bundle.Index{}}, m
}

// TestSettleEtcd: the installation sets etcd's times where the round trips require it, and says so. Short round trips
// leave the defaults. Times in airgap.yaml stay, and the check fails if they are too short.
func TestSettleEtcd(t *testing.T) {
	const ms = time.Millisecond
	long := kubeadm.EtcdTimes{HeartbeatInterval: "150ms", ElectionTimeout: "1.5s"}
	for name, test := range map[string]struct {
		trip, tail time.Duration // the 99th percentile of two measurements
		set        kubeadm.EtcdTimes
		want       kubeadm.EtcdTimes
		status     preflight.Status
		found, fix string
	}{
		"near": {trip: 2 * ms, status: preflight.Pass, found: "at most 2.0 ms (median) and 4.0 ms (99th percentile)"},
		"near, and unsteady": {trip: ms, tail: 400 * ms, want: kubeadm.EtcdTimes{HeartbeatInterval: "410ms", ElectionTimeout: "4.1s"}, status: preflight.Warn,
			found: "99th percentile 400.0 ms, in two measurements of 20 and 100 samples; median 1.0 ms"},
		"near, unsteady, and set": {trip: ms, tail: 400 * ms, set: long, want: long, status: preflight.Fail,
			found: "single round trips between members of etcd are longer than a tenth of its election timeout (150.0 ms)",
			fix:   "set kubernetes.etcd.heartbeatInterval: 410ms and electionTimeout: 4.1s in airgap.yaml"},
		"one country":     {trip: 30 * ms, status: preflight.Warn, found: "longer than 10.0 ms"},
		"at the limit":    {trip: 100 * ms, status: preflight.Warn, found: "longer than 10.0 ms"},
		"two continents":  {trip: 143 * ms, want: long, status: preflight.Warn, found: "airgap install sets etcd's heartbeat interval to 150ms and its election timeout to 1.5s"},
		"set, and enough": {trip: 143 * ms, set: long, want: long, status: preflight.Warn, found: "longer than 10.0 ms"},
		"set, and too short": {trip: 200 * ms, set: long, want: long, status: preflight.Fail, found: "longer than a tenth of its election timeout",
			fix: "set kubernetes.etcd.heartbeatInterval: 210ms and electionTimeout: 2.1s in airgap.yaml"},
		"too far": {trip: 6 * time.Second, status: preflight.Fail, found: "longer than a tenth", fix: "etcd has no times for this round trip"},
	} {
		s, m := twoSites(test.trip, test.set)
		if test.tail > 0 {
			m.Paths[0].Latency.Samples, m.Paths[0].Latency.P99 = 20, test.tail
			m.Paths[0].Again = &netprobe.Latency{Samples: 100, Median: test.trip, P99: 2 * test.tail}
		}
		settled, err := Settle(s, m, ui.Discard())
		require.NoError(t, err, name)
		assert.Equal(t, test.want, settled.Config.Kubernetes.Etcd, name)
		assert.Equal(t, test.set, s.Config.Kubernetes.Etcd, name)
		report, err := JudgeBetween(t.Context(), s, m, preflight.Choice{Only: []string{preflight.EtcdLatency}})
		require.NoError(t, err, name)
		for _, r := range report.Results {
			if r.ID == preflight.EtcdLatency {
				assert.Equal(t, test.status, r.Status, name)
				assert.Contains(t, r.Found, test.found, name)
				assert.Contains(t, r.Fix, test.fix, name)
				assert.Equal(t, test.want != test.set, strings.HasSuffix(r.Found, timesText(settled)), name)
			}
		}
	}
}

// TestMeasuredEtcdTimes: without SSH, airgap install uses the times of the last airgap netprobe listen, also after a run
// that only recorded its choice.
func TestMeasuredEtcdTimes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "measured.json")
	installs := func(s *site.Site) kubeadm.EtcdTimes {
		t.Helper()
		s, err := ApplyMeasured(s, file)
		require.NoError(t, err)
		return s.Config.Kubernetes.Etcd
	}
	listen := func(trip time.Duration) *site.Site {
		t.Helper()
		s, m := twoSites(trip, kubeadm.EtcdTimes{})
		require.NoError(t, SaveMeasured(s, file, m, ui.Discard()))
		return s
	}
	assert.Zero(t, installs(listen(2*time.Millisecond)))
	s := listen(143 * time.Millisecond)
	assert.Equal(t, kubeadm.EtcdTimes{HeartbeatInterval: "150ms", ElectionTimeout: "1.5s"}, installs(s))
	recorded := s.Choosing(&site.NetworkChoice{Etcd: kubeadm.EtcdTimesFor(120 * time.Millisecond)})
	assert.Equal(t, kubeadm.EtcdTimes{HeartbeatInterval: "150ms", ElectionTimeout: "1.5s"}, installs(recorded))
	assert.Zero(t, installs(listen(2*time.Millisecond)))

	s, m := twoSites(143*time.Millisecond, kubeadm.EtcdTimes{})
	s.Config.Network.Encapsulation = cni.Auto
	m.OneNetwork = true
	for port, state := range map[int]netprobe.State{8472: netprobe.NetworkCloses, 4789: netprobe.Open} {
		one := netprobe.Verdict{From: 0, To: 1, Kind: netprobe.VXLANTCP, Port: port, State: state}
		back := one
		back.From, back.To = 1, 0
		m.Verdicts = append(m.Verdicts, one, back)
	}
	require.NoError(t, SaveMeasured(s, file, m, ui.Discard()))
	s, err := ApplyMeasured(s, file)
	require.NoError(t, err)
	assert.Equal(t, 4789, s.Config.Network.Port)
	assert.Equal(t, "150ms", s.Config.Kubernetes.Etcd.HeartbeatInterval)
}
