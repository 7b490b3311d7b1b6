package hostcheck

import (
	"strings"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// judgePeers warns if a router between two hosts cannot learn the pods' addresses: Calico's nodes
// exchange routes only with each other, until an object BGPPeer names the router (Calico's
// documentation, "Configure BGP peering"). A packet to a pod then ends at the default gateway. The
// site can create the object later, so this is a warning. Routers cannot be tested before the
// cluster tells them the addresses.
func judgePeers(results preflight.CrossHost, c *config.Cluster, m *netprobe.Matrix, peers []string) {
	if c.Network.Encapsulation != cni.Native || !c.Network.Calico.BGP || m.OneNetwork {
		return
	}
	r := preflight.Result{Status: preflight.Pass, Found: "no tunnel; the site's routers learn the pods' addresses through BGP: " + strings.Join(peers, ", ")}
	if len(peers) == 0 {
		r = preflight.Result{
			Status: preflight.Warn, Found: "no tunnel, hosts in different networks, and no BGPPeer in the bundle: the routers between the hosts do not learn the pods' addresses",
			Want: "the routers between the hosts as BGP peers of the nodes",
			Fix: "ask the network team for the addresses and AS numbers of the routers (ToR switches), and add a BGPPeer for each to the manifests of an add-on in airgap.yaml; " +
				"or set network.encapsulation: crosssubnet; then create the bundle again",
		}
	}
	results[preflight.Encapsulation] = r
}
