package install

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/leave"
)

// TestIsFirst: another control-plane host of the cluster learns how it continues if the first one is lost, and is the
// first one after its removal.
func TestIsFirst(t *testing.T) {
	c := sitetest.ClusterFrom(t, "packages:", "  - {name: cp2, address: 192.0.2.12, roles: [control-plane]}\n  - {name: cp3, address: 192.0.2.13, roles: [control-plane]}\npackages:")
	cp2, err := c.Node("cp2")
	require.NoError(t, err)
	s := &site.Site{Config: c, Nodes: c.Nodes, Node: cp2, Machine: kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: host.Local{}, Root: t.TempDir()}}}}
	err = isFirst(s)
	require.EqualError(t, err, "install on cp2: by airgap.yaml the first control-plane host is cp1")
	assert.Equal(t, "run airgap install on cp1, and airgap join here", advice.Of(err))

	state := filepath.Join(s.Machine.Root, site.StateDir, "kubeadm.state")
	require.NoError(t, os.MkdirAll(filepath.Dir(state), 0o755))
	require.NoError(t, os.WriteFile(state, []byte("ended\n"), 0o600))
	assert.Contains(t, advice.Of(isFirst(s)), "if cp1 is lost, run airgap remove cp1 --force here")
	require.NoError(t, isFirst(s.Without([]string{"cp1"})))
}
