package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/bundle/workload"
)

// TestBGPPeers: both groups of Calico have the kind, and other kinds and groups are no peers.
func TestBGPPeers(t *testing.T) {
	objects, err := workload.Parse("a.yaml", []byte(`apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: tor-a}
spec: {peerIP: 10.0.0.1, asNumber: 64512}
---
apiVersion: crd.projectcalico.org/v1
kind: BGPPeer
metadata: {name: tor-b}
---
apiVersion: projectcalico.org/v3
kind: BGPFilter
metadata: {name: f}
---
apiVersion: notprojectcalico.org/v1
kind: BGPPeer
metadata: {name: x}
---
apiVersion: metallb.io/v1beta2
kind: BGPPeer
metadata: {name: metal}
`))
	require.NoError(t, err)
	got := bgpPeers([]operators.Set{{Of: "add-on routes", Objects: objects}})
	require.Len(t, got, 2)
	assert.Contains(t, got[0], "add-on routes: ")
	assert.Contains(t, got[0], "tor-a")
	assert.Contains(t, got[1], "tor-b")
}
