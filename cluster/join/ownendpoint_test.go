package join

import (
	"net"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/netnstest"
	"airgap.dev/airgap/kubeadm/kubetest"
)

// TestOwnEndpoint: with direct server return, a host that joins has the load balancer's address on lo, and no API
// server. The join stops before it changes the host or uses the token, with the way out. A load balancer on the host
// itself, and an address elsewhere, are no fault.
func TestOwnEndpoint(t *testing.T) {
	api := kubetest.NewAPI(t)
	netnstest.Enter(t)
	ip := func(arguments ...string) {
		out, err := exec.Command("ip", arguments...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	ip("link", "set", "lo", "up")
	ip("address", "add", "10.99.9.9/32", "dev", "lo")
	ip("link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
	ip("address", "add", "10.99.8.8/24", "dev", "eth0")
	ip("link", "set", "eth0", "up")
	at := func(endpoint string, role config.Role) (string, error) {
		c, f := candidateAt(t, api, role)
		c.Hub.Material.APIServer = endpoint
		before := filesOf(t, f)
		_, err := c.admit(t.Context())
		assert.Equal(t, before, filesOf(t, f), "the host has changed")
		assert.Empty(t, f.Calls, "a command has run")
		return advice.Of(err), err
	}
	fix, err := at("10.99.9.9:6443", config.ControlPlane)
	require.ErrorContains(t, err, "check lb-vip: 10.99.9.9:6443 (kubernetes.controlPlaneEndpoint) is an address of this host on lo, where no API server runs yet")
	assert.Contains(t, fix, "ip address del 10.99.9.9/32 dev lo; then run the same command again, and add the address after it: ip address add 10.99.9.9/32 dev lo")
	fix, err = at("10.99.9.9:6443", config.Worker)
	require.ErrorContains(t, err, "is an address of this host on lo")
	assert.Contains(t, fix, "a worker must not have the address")
	fix, err = at("10.99.8.8:6443", config.ControlPlane)
	require.ErrorContains(t, err, "is an address of this host on eth0")
	assert.Contains(t, fix, "systemctl stop keepalived")
	assert.Zero(t, api.Burnt, "the token was used")

	c, _ := candidateAt(t, api, config.ControlPlane)
	c.Hub.Material.APIServer = "10.99.8.9:6443"
	require.NoError(t, c.ownEndpoint(t.Context()), "another host has the address")
	c.Hub.Material.APIServer = "10.99.9.9:6443"
	c.options.Skip = []string{"lb-vip"}
	require.NoError(t, c.ownEndpoint(t.Context()), "skipped on request")
	c.options.Skip = nil
	listener, err := net.Listen("tcp4", "10.99.9.9:6443")
	require.NoError(t, err)
	defer listener.Close()
	require.NoError(t, c.ownEndpoint(t.Context()), "a load balancer on this host")
}
