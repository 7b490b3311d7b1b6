package build

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

const closedSite = `apiVersion: airgap.dev/v1alpha1
kind: Cluster
name: bank
kubernetes: {version: "1.36.3"}
nodes:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
packages:
  os: el9
  repositories:
    - {name: baseos, baseURL: "https://127.0.0.1:1/BaseOS", gpgKeys: ["https://127.0.0.1:1/key"]}
sources:
  rewrite:
    - {from: "*", to: "127.0.0.1:1/all"}
`

// TestHostsOfAClosedNetwork: the first list, in a network that allows nothing yet, has the hosts that are asked
// first, and says that it is incomplete.
func TestHostsOfAClosedNetwork(t *testing.T) {
	file := filepath.Join(t.TempDir(), "airgap.yaml")
	require.NoError(t, os.WriteFile(file, []byte(closedSite), 0o600))
	t.Setenv("HTTPS_PROXY", "")
	list, err := Hosts(t.Context(), Options{File: file, Keys: program.KeyOptions{Dir: t.TempDir()}, PartSize: "64MiB", Progress: ui.Discard()})
	require.ErrorContains(t, err, "connect to 1 server")
	require.NotNil(t, list)
	require.Len(t, list.Destinations, 1)
	d := list.Destinations[0]
	assert.Equal(t, "127.0.0.1", d.Host)
	assert.Equal(t, 1, d.Port)
	assert.Contains(t, strings.Join(d.For, "\n"), "packages of repository baseos")
	assert.Contains(t, strings.Join(d.For, "\n"), "image registry.k8s.io/")
	assert.Contains(t, d.Failure, "connection refused")
	assert.Len(t, list.Incomplete, 2)
}

// TestRates: a rate has a unit, and no rate is so small that nothing comes.
func TestRates(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "20MB": 20e6, "512KiB/s": 512 << 10, "1.5 MB/s": 15e5} {
		got, err := parseRate(text)
		require.NoError(t, err)
		assert.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{"fast": `--limit-rate "fast": want bytes per second`, "-1": "want bytes", "1kB": "the smallest limit is 16.4 kB per second"} {
		_, err := parseRate(text)
		require.ErrorContains(t, err, want)
		assert.True(t, advice.IsUsage(err))
	}
}

// TestKeysWithoutHome: the bundle is refused before anything is read, and nothing is written.
func TestKeysWithoutHome(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	require.NoError(t, os.WriteFile("airgap.yaml", []byte(closedSite), 0o600))
	_, err := Bundle(context.Background(), Options{File: "airgap.yaml", Out: "out", PartSize: "64MiB", Progress: ui.Discard()})
	require.ErrorContains(t, err, "find the directory of the signing keys: HOME is not set")
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Len(t, left, 1)
}
