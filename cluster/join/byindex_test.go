package join

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/leave"
)

// TestPlanWithoutRegistry: a worker lists its changes with only the signed index, and changes nothing.
func TestPlanWithoutRegistry(t *testing.T) {
	c := sitetest.ClusterFrom(t)
	m := kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: sitetest.FilesHost{"proc/1/comm": {Data: []byte("systemd\n")}}, Root: t.TempDir()}}}
	index := &bundle.Index{Lock: bundle.Lock{Images: sitetest.Images(t, c)}}
	s := &site.Site{Index: index, Config: c, Nodes: c.Nodes, Node: c.Nodes[1], Machine: m}
	h := &Server{Addr: s.RegistryAddr(), Index: index, Signed: map[string][]byte{bundle.IndexName: []byte("{}")}}
	steps, err := WorkerSteps(s, h, &Admission{}, UpgradePart{}, ui.Discard())
	require.NoError(t, err)
	forecasts, err := step.Plan(t.Context(), steps)
	require.NoError(t, err)
	changes := 0
	for _, f := range forecasts {
		changes += len(f.Changes)
	}
	assert.Greater(t, changes, 10)
	require.NoError(t, filepath.WalkDir(m.Root, func(path string, _ fs.DirEntry, err error) error {
		assert.Equal(t, m.Root, path, "a dry run writes no file")
		return err
	}))
	_, err = h.stream(t.Context(), "/files/x")
	assert.ErrorContains(t, err, "the registry is not asked")
}

// TestIndexOfAnotherKey: an index that another key signed is refused before anything else.
func TestIndexOfAnotherKey(t *testing.T) {
	one, other := bundletest.New(t), bundletest.New(t)
	_, _, err := readIndexIn(one.Dir, Options{Keys: []string{bundle.Fingerprint(&other.Key.PublicKey)}})
	assert.ErrorContains(t, err, bundle.Fingerprint(&other.Key.PublicKey))
	_, _, err = readIndexIn(t.TempDir(), Options{Keys: []string{bundle.Fingerprint(&one.Key.PublicKey)}})
	assert.Error(t, err)
}
