package facts

import (
	"net/netip"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/netnstest"
)

// TestRulesOfTheKernel: the routes of each table that a rule or a VRF uses are read from a real network namespace.
func TestRulesOfTheKernel(t *testing.T) {
	netnstest.Enter(t)
	run := func(script string) error { return exec.CommandContext(t.Context(), "sh", "-ec", script).Run() }
	read := func() *Facts {
		var f Facts
		require.NoError(t, readRules(t.Context(), reader{host: host.Local{}}, &f))
		return &f
	}
	require.NoError(t, run(`ip link set lo up
		for n in 0 1; do ip link add eth$n type bridge; ip address add 10.0.$n.11/24 dev eth$n; ip link set eth$n up; done
		ip route add 10.30.0.0/16 via 10.0.0.1`))
	assert.Empty(t, read().Rules)
	require.NoError(t, run(`ip rule add priority 100 from 10.0.1.0/24 lookup 101
		ip route add default via 10.0.1.1 table 101; ip route add 10.244.7.0/24 via 10.0.1.1 table 101; ip route add 10.31.0.0/16 via 10.0.1.1 table 102`))
	rules := read().Rules
	require.Len(t, rules, 1)
	assert.Equal(t, "100: from 10.0.1.0/24 lookup 101", rules[0].String())
	assert.ElementsMatch(t, []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("10.244.7.0/24")}, rules[0].Routes)
	if err := run("ip link add mgmt type vrf table 1000007"); err != nil {
		t.Logf("this kernel has no VRFs: %v", err)
		return
	}
	require.NoError(t, run("ip link set mgmt up; ip link set eth1 master mgmt; ip route add 10.96.4.0/24 via 10.0.1.1 vrf mgmt"))
	seen := false
	for _, r := range read().Rules {
		seen = seen || r.Table == VRFTables
		assert.Equal(t, r.Table == VRFTables, slices.Contains(r.Routes, netip.MustParsePrefix("10.96.4.0/24")), "%s: %s", r, r.Routes)
	}
	assert.True(t, seen)
}
