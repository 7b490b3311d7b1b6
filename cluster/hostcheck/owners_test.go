package hostcheck

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// TestOwners: each finding names its team in its line, and the result lists the teams for programs. Notes and
// passed checks have none.
func TestOwners(t *testing.T) {
	at := netip.MustParseAddr
	m := &netprobe.Matrix{
		Tried: 2, Of: 2, OneNetwork: true, Hosts: []netprobe.Host{{Name: "a", Address: at("10.0.0.1")}, {Name: "b", Address: at("10.0.0.2")}},
		Verdicts: []netprobe.Verdict{
			{From: 0, To: 1, Kind: netprobe.TCP, Port: 10250, State: netprobe.NetworkCloses},
			{From: 1, To: 0, Kind: netprobe.TCP, Port: 10250, State: netprobe.HostCloses, Rule: "drop"},
			{From: 1, To: 0, Kind: netprobe.IPIP, State: netprobe.NetworkCloses},
		},
		Duplicates: []netprobe.Duplicate{{What: "MAC address", Value: "x", Hosts: []int{0, 1}}},
	}
	c := &config.Cluster{}
	can := netprobe.Options{Ports: []int{8472}}
	results := resultsBetween(c, m, can)
	r, err := preflight.RunCrossHost(t.Context(), results, preflight.Config{}, time.Now(), preflight.Choice{})
	require.NoError(t, err)
	_, needs := NeedsOf(c, m, can)
	addOwners(&r, m.Findings(needs))
	entries := map[string]preflight.Entry{}
	for _, e := range r.Results {
		entries[e.ID] = e
	}
	ports := strings.Split(entries[preflight.PortsReach].Found, "\n")
	require.Len(t, ports, 2)
	assert.Regexp(t, `does not arrive: from a .* \(owner: network team\)$`, ports[0])
	assert.Regexp(t, `from b .* \(owner: host team\)$`, ports[1])
	assert.Equal(t, []string{"network", "hosts"}, entries[preflight.PortsReach].Owners)
	assert.Equal(t, []string{"hypervisor"}, entries[preflight.Duplicates].Owners)
	assert.Contains(t, entries[preflight.Duplicates].Found, "(owner: hypervisor team)")
	assert.Empty(t, entries[preflight.IPIP].Owners)
	assert.NotContains(t, entries[preflight.IPIP].Found, "owner")
	assert.Empty(t, entries[preflight.PathQuality].Owners)
}
