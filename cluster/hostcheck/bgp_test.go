package hostcheck

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// TestNativeNeedsPods: without a tunnel, a switch that drops pods' addresses stops an installation,
// with every plugin. A BGP router between switches does not change that.
func TestNativeNeedsPods(t *testing.T) {
	native := func(plugin string) cni.Config {
		return cni.Config{Plugin: plugin, Encapsulation: cni.Native, Port: 4789}
	}
	bgp := native(cni.Calico)
	bgp.Calico.BGP = true
	tunnel := bgp
	tunnel.Encapsulation = cni.VXLAN
	for name, test := range map[string]struct {
		network cni.Config
		state   netprobe.State
		want    preflight.Status
	}{
		"calico with BGP, dropped":          {bgp, netprobe.NetworkCloses, preflight.Fail},
		"calico with BGP, carried":          {bgp, netprobe.Open, preflight.Pass},
		"calico with BGP, not captured":     {bgp, netprobe.Unknown, preflight.Warn},
		"calico with BGP in VXLAN, dropped": {tunnel, netprobe.NetworkCloses, preflight.Pass},
		"flannel, dropped":                  {native(cni.Flannel), netprobe.NetworkCloses, preflight.Fail},
		"cilium, dropped":                   {native(cni.Cilium), netprobe.NetworkCloses, preflight.Fail},
	} {
		m := &netprobe.Matrix{
			Tried: 2, Of: 2, OneNetwork: true,
			Hosts: []netprobe.Host{{Name: "a", Address: netip.MustParseAddr("10.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("10.0.0.2")}},
			Verdicts: []netprobe.Verdict{
				{From: 0, To: 1, Kind: netprobe.Routed, State: test.state},
				{From: 0, To: 1, Kind: netprobe.VXLANTCP, Port: 4789, State: netprobe.Open},
			},
		}
		got := resultsBetween(&config.Cluster{Network: test.network}, m, netprobe.Options{Ports: []int{4789}})
		assert.Equal(t, test.want, got[preflight.PortsReach].Status, "%s: %+v", name, got[preflight.PortsReach])
		assert.Equal(t, preflight.Pass, got[preflight.Encapsulation].Status, name)
	}
}

// TestTunnelOfPlugin: the remedy for wrong checksums names the interface that the plugin creates.
func TestTunnelOfPlugin(t *testing.T) {
	for plugin, want := range map[string]string{cni.Flannel: "flannel.1", cni.Calico: "vxlan.calico", cni.Cilium: "cilium_vxlan"} {
		c := &config.Cluster{Network: cni.Config{Plugin: plugin, Encapsulation: cni.VXLAN, Port: 8472}}
		_, needs := NeedsOf(c, &netprobe.Matrix{Hosts: []netprobe.Host{{Name: "a"}, {Name: "b"}}}, netprobe.Options{Ports: []int{8472}})
		assert.Equal(t, want, needs.Tunnel)
	}
}

// TestRoutersNeedPeers: routers between hosts learn the pods' addresses only as BGP peers.
func TestRoutersNeedPeers(t *testing.T) {
	for name, test := range map[string]struct {
		one   bool
		peers []string
		want  preflight.Status
		says  string
	}{
		"one network":                   {true, nil, preflight.Pass, "all hosts are in one network"},
		"several networks":              {false, nil, preflight.Warn, "no BGPPeer in the bundle"},
		"several networks, with a peer": {false, []string{"add-on routes: BGPPeer tor-a"}, preflight.Pass, "BGPPeer tor-a"},
	} {
		c := &config.Cluster{Network: cni.Config{Plugin: cni.Calico, Encapsulation: cni.Native, Port: 4789}}
		c.Network.Calico.BGP = true
		m := &netprobe.Matrix{Hosts: []netprobe.Host{{Name: "a"}, {Name: "b"}}, OneNetwork: test.one}
		results := resultsBetween(c, m, netprobe.Options{Ports: []int{4789}})
		judgePeers(results, c, m, test.peers)
		got := results[preflight.Encapsulation]
		assert.Equal(t, test.want, got.Status, "%s: %+v", name, got)
		assert.Contains(t, got.Found, test.says, name)
	}
}
