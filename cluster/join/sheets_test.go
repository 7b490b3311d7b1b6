package join

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm/jointoken"
)

// hundred is a cluster of 100 hosts in four racks; those in the last one have no rack in airgap.yaml.
func hundred() []config.Node {
	var nodes []config.Node
	for i := 1; i <= 100; i++ {
		n := config.Node{Name: fmt.Sprintf("node%03d", i), Address: fmt.Sprintf("10.1.%d.%d", (i-1)/25, i), Roles: []config.Role{config.Worker}}
		if rack := (i - 1) / 25; rack < 3 {
			n.Rack = fmt.Sprintf("r%d", rack+1)
		}
		if i <= 3 {
			n.Roles = []config.Role{config.ControlPlane}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

var ends = time.Date(2026, 11, 29, 16, 2, 0, 0, time.UTC)

func newLine(_ context.Context, n config.Node) (Line, error) {
	if n.Name == "node050" {
		return Line{}, errors.New("etcd is full")
	}
	return Line{Node: n.Name, Line: "airgap join 10.1.0.1:5000 --ca-hash sha256:1f6b", Code: "token-of-" + n.Name, Until: ends}, nil
}

// TestSheets: each rack has one sheet with the command, the expiry and the tokens of its hosts. A host that is joining
// keeps its token, and a host without a new one is an error next to the sheets of the others.
func TestSheets(t *testing.T) {
	missing := hundred()[1:] // node001 has joined
	before := map[string]jointoken.Outstanding{"node002": {Unused: 2}, "node003": {Used: 1, Unused: 1}, "node026": {Unused: 1}, "node027": {Unused: 1}}
	all, err := sheetsFor(t.Context(), "bank", missing, before, newLine)
	require.EqualError(t, err, "create join tokens: 1 of 99 nodes got none\n  node050: etcd is full")
	assert.Contains(t, advice.Of(err), "airgap join --new-token --node NAME")
	var racks []string
	for _, r := range all.Racks {
		racks = append(racks, fmt.Sprintf("%s %d", r.Rack, len(r.Hosts)))
	}
	assert.Equal(t, []string{"10.1.3.0/24 25", "r1 23", "r2 24", "r3 25"}, racks)
	assert.Equal(t, []string{"node002", "node026", "node027"}, all.Replaced)
	assert.Equal(t, []string{"node003"}, all.Joining)

	var text strings.Builder
	require.NoError(t, all.Write(&text))
	sheets := strings.Split(text.String(), "\n\n\n")
	require.Len(t, sheets, 4)
	for _, sheet := range sheets {
		assert.Contains(t, sheet, "\n  airgap join 10.1.0.1:5000 --ca-hash sha256:1f6b\n")
		assert.Contains(t, sheet, "until "+ends.Local().Format("2006-01-02 15:04 MST"))
		assert.Contains(t, sheet, "of cluster bank to join")
	}
	assert.Contains(t, sheets[1], "Join control-plane hosts one after the other.")
	assert.Contains(t, sheets[1], "node002  10.1.0.2   control-plane  token-of-node002\n")
	assert.NotContains(t, sheets[2], "control-plane")
	assert.NotContains(t, text.String(), "token-of-node001")
	assert.NotContains(t, text.String(), "token-of-node003")
	assert.Contains(t, text.String(), "Earlier join tokens of node[002,026-027] no longer work.\n")
	assert.Contains(t, text.String(), "No new token for node003: the host has used its token")
}

// TestNoSheets: without a missing node nothing is created.
func TestNoSheets(t *testing.T) {
	all, err := sheetsFor(t.Context(), "bank", nil, nil, nil)
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, all.Write(&text))
	assert.Equal(t, "all nodes of airgap.yaml have joined: no join token was created\n", text.String())
}
