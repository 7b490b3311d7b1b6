package status

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
)

// TestOwedHosts: owed hosts with the same reason and absent nodes are one line each, with the next action.
func TestOwedHosts(t *testing.T) {
	record := owed.File(filepath.Join(t.TempDir(), "owed.json"))
	s := &site.Site{Config: &config.Cluster{}}
	since := time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)
	for _, name := range []string{"node001", "node002", "node003", "gpu1"} {
		s.Config.Nodes = append(s.Config.Nodes, config.Node{Name: name})
		if name != "gpu1" {
			require.NoError(t, record.Owe(owed.Debt{Node: name, Command: owed.Join, Why: "left out with --limit", Since: since}))
		}
	}
	for _, name := range []string{"node008", "node009"} {
		s.Config.Nodes = append(s.Config.Nodes, config.Node{Name: name, Absent: &config.Absent{Reason: "order 7", Until: "2026-12-24"}})
	}
	st := &Status{now: time.Date(2026, 12, 25, 0, 0, 0, 0, time.Local)}
	st.tellOwed(t.Context(), s, record)
	var b strings.Builder
	st.writeOwed(&b)
	assert.Equal(t, "owed      node[001-003]: airgap install DIR since 2026-11-20: left out with --limit\n"+
		"absent    node[008-009]: order 7, until 2026-12-24 (this date is past)\n", b.String())
	next := st.nextOwed()
	require.Len(t, next, 2)
	assert.Equal(t, "airgap install DIR picks up node[001-003]; airgap remove NODE --force removes one whose host is gone", next[0])
	assert.Contains(t, next[1], "remove nodes[].absent of node[008-009] from airgap.yaml")
	assert.Empty(t, st.Problems)

	empty := &Status{}
	empty.tellOwed(t.Context(), nil, record)
	assert.Empty(t, empty.nextOwed())
	assert.Empty(t, empty.deadNodes())
	empty.Health = &clusterHealth{Says: "2 of 3 nodes ready; not w1"}
	assert.Len(t, empty.deadNodes(), 1)
}
