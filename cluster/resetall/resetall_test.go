package resetall

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/reset"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
)

// TestLastHost: this host is only reset after all others, because the same command needs its bundle.
func TestLastHost(t *testing.T) {
	failed := errors.New("node2 is not reset")
	others := Result{Hosts: []fleet.HostReset{{Host: "node2", Undone: 3}}}
	for name, c := range map[string]struct {
		others, own error
		left        string
		hosts, runs int
	}{
		"all":          {nil, nil, "", 2, 1},
		"another host": {failed, nil, "node1", 1, 0},
		"this host":    {nil, failed, "node1", 1, 1},
	} {
		runs := 0
		got, err := others.last("node1", c.others, func() (reset.Result, error) { runs++; return reset.Result{Undone: 40}, c.own })
		assert.Equal(t, c.left == "", err == nil, name)
		assert.Equal(t, c.left, got.Left, name)
		assert.Len(t, got.Hosts, c.hosts, name)
		assert.Equal(t, c.runs, runs, name)
	}
}

// TestNotAll: the hint says that this host is kept, and has the way out for a lost host.
func TestNotAll(t *testing.T) {
	plan := Plan{Cluster: "bank", Last: "node1"}
	f := &fleet.Fleet{Members: []*fleet.Member{{Node: config.Node{Name: "node2"}}, {Node: config.Node{Name: "node3"}}}}
	require.NoError(t, notAll(t.Context(), f, plan))
	f.Members[1].Err = advice.Add(errors.New("no answer"), "switch it on")
	err := notAll(t.Context(), f, plan)
	assert.EqualError(t, err, "1 of 2 other hosts: not reset\n  node3: no answer\n    hint: switch it on")
	assert.Contains(t, advice.Of(err), "run the same command again: node1 is kept until then")
	assert.Contains(t, advice.Of(err), "lost for good, run airgap reset on node1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = notAll(ctx, f, plan)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Contains(t, advice.Of(err), "it continues")
}
