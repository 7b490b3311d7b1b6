package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/remote"
)

// TestShow: the list is the section nodes of an airgap.yaml with the same nodes.
func TestShow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "airgap.yaml")
	require.NoError(t, os.WriteFile(path, []byte(withNodes(t, manyNodes)), 0o600))
	list, err := Show(path)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, list.Write(&b))
	for _, want := range []string{
		"# 107 nodes: 1 control-plane, 106 worker, 3 gpu; 3 racks\nnodes:\n  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}\n",
		"\n  - {name: node100, address: 10.1.0.110, roles: [worker], rack: r1}\n",
		"\n  - {name: node104, address: 10.1.1.14, roles: [worker], ssh: {address: mgmt4.bank, port: 2022}}\n",
		"\n  - {name: gpu3, address: 10.1.2.3, roles: [worker, gpu], rack: r9, ssh: {user: gpuops, port: 22022}}\n",
	} {
		assert.Contains(t, b.String(), want)
	}
	_, listed, _ := strings.Cut(b.String(), "nodes:\n")
	_, rest, _ := strings.Cut(full(t), "\nssh:\n")
	c, err := Parse("airgap.yaml", []byte("apiVersion: airgap.dev/v1alpha1\nkind: Cluster\nname: bank\nkubernetes: {version: 1.36.3}\nnodes:\n"+listed+"ssh:\n"+rest))
	require.NoError(t, err)
	assert.Equal(t, list.Nodes, c.Nodes)

	require.NoError(t, os.WriteFile(path, []byte("nodes: []\n"), 0o600))
	_, err = Show(path)
	assert.ErrorContains(t, err, "in the configuration")
}

// TestOddValues: a value that YAML would read in another way is in quotes.
func TestOddValues(t *testing.T) {
	for _, rack := range []string{"1", "yes", "a: b", "{x}", "'", "1-2", "#1", "r,1", "랙 1"} {
		list := NodeList{Nodes: []Node{{Name: "w1", Address: "10.0.0.12", Roles: []Role{Worker}, Rack: rack, SSH: &remote.Override{}}}}
		text, err := list.yaml("  ")
		require.NoError(t, err)
		assert.Equal(t, 1, strings.Count(string(text), "\n"))
		assert.NotContains(t, string(text), "\x1b")
		c, err := Parse("airgap.yaml", []byte(withNodes(t, string(text))))
		require.NoError(t, err, string(text))
		assert.Equal(t, rack, c.Nodes[1].Rack)
	}
}
