package install

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/fleet"
)

// TestResultOfManyHosts: 100 hosts have a line for each kind of result.
func TestResultOfManyHosts(t *testing.T) {
	r := Result{Node: "node001", Changed: 40, Unchanged: 2}
	for i := 2; i <= 100; i++ {
		h := fleet.Joined{Node: fmt.Sprintf("node%03d", i), Changed: 33}
		switch {
		case i == 71:
			h = fleet.Joined{Node: h.Node, Error: "no answer"}
		case i > 90:
			h.Changed, h.Unchanged = 0, 33
		}
		r.Hosts = append(r.Hosts, h)
	}
	var b strings.Builder
	require.NoError(t, r.Write(&b))
	assert.Equal(t, `node[002-070,072-090] (88 hosts): done (33 steps ran, 0 were up to date)
node[091-100] (10 hosts): nothing to do, all 33 steps are up to date
node001: done (40 steps ran, 2 were up to date)
node071: did not join
`, b.String())
	r.Hosts[69].Error, r.verified = "", true
	b.Reset()
	require.NoError(t, r.Write(&b))
	assert.Contains(t, b.String(), "the cluster is verified: 100 nodes, all as airgap.yaml has them\n")
}
