package install

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/fleet"
)

// TestResultNamesLeftOutHosts: the result has hosts with the same reason in one line, and says what is verified.
func TestResultNamesLeftOutHosts(t *testing.T) {
	r := Result{Node: "cp1", Changed: 3, Hosts: []fleet.Joined{{Node: "w1", Changed: 2, Unchanged: 1}, {Node: "w9", Error: "no space"}, {Node: "w4", Error: "refused"}}, LeftOut: []fleet.LeftOut{
		{Node: "w2", Why: "left out with --limit"}, {Node: "w3", Why: "left out with --limit"},
		{Node: "w4", Why: "login failed: refused", Failed: true}, {Node: "w5", Why: "absent: not delivered", Absent: true},
	}}
	text := func() string {
		var b strings.Builder
		require.NoError(t, r.Write(&b))
		return b.String()
	}
	const hosts = "cp1: done (3 steps ran, 0 were up to date)\nw1: done (2 steps ran, 1 were up to date)\nw9: did not join\n" +
		"w[2-3]: left out with --limit\nw4: left out: login failed: refused\nw5: absent: not delivered\n"
	assert.Equal(t, hosts, text())
	r.verified = true
	assert.Equal(t, hosts+"the cluster is verified, without the hosts that are left out\n", text())
	r.Hosts, r.LeftOut = r.Hosts[:1], nil
	assert.Contains(t, text(), "the cluster is verified: 2 nodes, all as airgap.yaml has them\n")
}
