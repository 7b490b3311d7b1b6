package hostcheck

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/sitetest"
)

// TestAbsentHostsAreNotMeasured: the measurement does not wait for a host that is not there.
func TestAbsentHostsAreNotMeasured(t *testing.T) {
	c := sitetest.ClusterFrom(t, "packages:", "  - {name: w2, address: 192.0.2.22, roles: [worker], absent: {reason: not delivered}}\npackages:")
	require.Len(t, c.Nodes, 3)
	plan, err := ProbePlan(c)
	require.NoError(t, err)
	require.Len(t, plan.Hosts, 2)
	assert.Equal(t, "w1", plan.Hosts[1].Name)
}
