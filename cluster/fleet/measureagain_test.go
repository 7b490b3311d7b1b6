package fleet

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

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
