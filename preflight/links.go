package preflight

import (
	"net/netip"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var nodeIP = Check{
	ID: "node-ip", Title: "Host has the node's address", Source: "kubespray; embedded-cluster",
	Breaks: "The node would register with an address that it does not have.",
	Needs:  []string{"links"}, Run: judgeNodeIP,
}

func judgeNodeIP(f *facts.Facts, w *Want) Result {
	var own []string
	for _, l := range f.Links {
		for _, a := range l.Addresses {
			if a.Addr().IsLoopback() || a.Addr().IsLinkLocalUnicast() {
				continue
			}
			if a.Addr().String() == w.NodeAddress {
				return judgeLasting(f, l, a.Addr())
			}
			own = append(own, a.Addr().String()+" on "+l.Name)
		}
	}
	switch {
	case len(own) == 0:
		return Result{Fail, "no address", "an IP address", "configure the network"}
	case w.NodeAddress != "":
		return Result{Fail, strings.Join(own, ", "), w.NodeAddress, "correct the node's address in airgap.yaml, or the address of the host"}
	default:
		return pass("%s", strings.Join(own, ", "))
	}
}

// judgeLasting warns if the address may be another one after a reboot: certificates and the other hosts' settings name it.
func judgeLasting(f *facts.Facts, l facts.Link, address netip.Addr) Result {
	if found := f.FromDHCP(l, address); found != "" {
		return Result{Warn, found, "an address that stays with the host",
			"set it by hand: nmcli connection modify NAME ipv4.method manual ipv4.addresses ADDRESS/LENGTH ipv4.gateway GATEWAY; or reserve it in the DHCP server as long as the node exists"}
	}
	return pass("%s on %s", address, l.Name)
}
