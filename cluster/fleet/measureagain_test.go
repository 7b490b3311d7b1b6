package fleet

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/netprobe"
)

func closedAt(to int, opens bool) *netprobe.Matrix {
	return &netprobe.Matrix{
		Hosts: []netprobe.Host{{Name: "cp1", Address: netip.MustParseAddr("10.0.0.11")}, {Name: "w1", Address: netip.MustParseAddr("10.0.0.12")}}, Tried: 2, Of: 2,
		Verdicts: []netprobe.Verdict{
			{From: 1 - to, To: to, Kind: netprobe.TCP, Port: 10250, State: netprobe.HostCloses, Opens: opens, Rule: `"drop" in chain in of table inet site`},
			{From: to, To: 1 - to, Kind: netprobe.TCP, Port: 10250, State: netprobe.Open},
		},
	}
}

// TestMeasuringAgain: the first host measures again after its openings if its own firewall closed ports.
func TestMeasuringAgain(t *testing.T) {
	steps := []step.Step{{Name: "firewalld"}, {Name: nodesteps.FirewallRules}, {Name: "store"}}
	nodes := []config.Node{{Name: "cp1"}, {Name: "w1"}}
	f := &Fleet{site: &site.Site{Config: &config.Cluster{Nodes: nodes}, Node: nodes[0]}}
	assert.Len(t, (*Fleet)(nil).MeasuringAgain(steps, ui.Discard()), 3, "without SSH")
	assert.Len(t, f.MeasuringAgain(steps, ui.Discard()), 3, "without a measurement")
	f.measured = closedAt(1, true)
	assert.Len(t, f.MeasuringAgain(steps, ui.Discard()), 3, "another host was closed")
	f.measured = closedAt(0, true)
	assert.Equal(t, []string{"firewalld", "firewall-rules", "measure-again", "store"}, sitetest.StepNames(f.MeasuringAgain(steps, ui.Discard())))
	assert.Len(t, steps, 3)
	f.measured = closedAt(0, true)
	assert.NoError(t, f.StillClosed(t.Context(), ui.Discard()), "no other host was closed")
}

// TestStillClosedShowsPackets: the error has the packets of the exchange that fails, as both hosts saw them.
func TestStillClosedShowsPackets(t *testing.T) {
	m := closedAt(0, false)
	syn := make([]byte, 40)
	copy(syn, []byte{0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 12, 10, 0, 0, 11, 0xa8, 0xca, 0x28, 0x0a})
	syn[32], syn[33] = 0x50, 0x02
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	here := &netprobe.Report{Schema: netprobe.Schema, Self: 1, Hosts: m.Hosts, Attempts: []netprobe.Attempt{{To: 0, Kind: netprobe.TCP, Port: 10250, Result: netprobe.NoReply}},
		Packets: []netprobe.Packet{{Peer: 0, Kind: netprobe.TCP, Port: 10250, Layer: netprobe.RequestLeft, Time: at, Headers: syn}}}
	there := &netprobe.Report{Schema: netprobe.Schema, Hosts: m.Hosts, Observations: []netprobe.Observation{{From: 1, Kind: netprobe.TCP, Port: 10250, Layer: netprobe.AtInterface}},
		Packets: []netprobe.Packet{{Peer: 1, Kind: netprobe.TCP, Port: 10250, Layer: netprobe.AtInterface, Time: at, Headers: syn}}}
	judged, err := netprobe.Judge([]*netprobe.Report{here, there})
	require.NoError(t, err)
	needs := netprobe.Needs{TCP: []netprobe.Port{{Number: 10250, For: "kubelet", To: netprobe.All, From: netprobe.All}}}
	err = stillClosed(judged, []int{0}, needs)
	require.ErrorContains(t, err, "TCP 10250 (kubelet) arrives, but the host's own firewall blocks it")
	for _, want := range []string{
		"\n  w1 03:04:05.000006 out 10.0.0.12.43210 > 10.0.0.11.10250: TCP SYN, ttl 64",
		"\n  cp1 03:04:05.000006 in 10.0.0.12.43210 > 10.0.0.11.10250: TCP SYN, ttl 64", "\n  cp1: no answer left its interface",
	} {
		assert.ErrorContains(t, err, want)
	}
}

// TestStillClosed: a port that is closed after its opening is an error with the rule.
func TestStillClosed(t *testing.T) {
	needs := netprobe.Needs{TCP: []netprobe.Port{{Number: 10250, For: "kubelet", To: netprobe.All, From: netprobe.All}}, OpensFirewall: true}
	err := stillClosed(closedAt(0, false), []int{0}, needs)
	assert.ErrorContains(t, err, `TCP 10250 (kubelet) arrives, but the host's own firewall blocks it: "drop" in chain in of table inet site: from w1 (10.0.0.12) to cp1 (10.0.0.11)`)
	assert.Contains(t, advice.Of(err), "before this rule")
	assert.ErrorContains(t, stillClosed(closedAt(0, true), []int{0}, needs), "firewalld")
	assert.NoError(t, stillClosed(closedAt(0, false), []int{1}, needs))
	needs.TCP = nil
	assert.NoError(t, stillClosed(closedAt(0, false), []int{0}, needs), "the cluster does not need it")
}
