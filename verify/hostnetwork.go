package verify

import (
	"slices"
	"strings"

	"airgap.dev/airgap/verify/hostlinks"
	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/result"
)

// hostNetwork finds changes that others make on a host months after the installation, before they cause a failure.
func hostNetwork() rule {
	network := part{name: "network", in: func(r nodereport.Report) bool { return r.Network != nil }, newer: true}
	return reported("host-network", "Address, firewall and name servers of the hosts are as at the installation", network, func(host string, r nodereport.Report) []Finding {
		findings := slices.Concat(addressFindings(*r.Network), firewallFindings(r.Network.Firewall), nameServerFindings(*r.Network))
		for i := range findings {
			findings[i].Object = "Node " + host + findings[i].Object
			findings[i].Fix = "on " + host + ": " + findings[i].Fix
		}
		return findings
	})
}

func hostLinks() rule {
	links := part{name: "hostLinks", in: func(r nodereport.Report) bool { return r.HostLinks != nil }, newer: true}
	return reported("host-links", "Links, bonds and connection tracking of the hosts work without losses", links, hostlinks.Judge)
}

func addressFindings(n nodereport.HostNetwork) []Finding {
	const fix = "set it by hand: nmcli connection modify NAME ipv4.method manual ipv4.addresses ADDRESS/LENGTH ipv4.gateway GATEWAY; or reserve it in the DHCP server"
	switch {
	case n.Link == "":
		return []Finding{{Saw: "no interface has " + n.Address, Want: "the node's address", Fix: "ip -brief address; " + fix}}
	case n.DHCP != "":
		return []Finding{{Object: ", " + n.Link, Saw: n.DHCP, Want: "an address that stays with the host", Fix: fix}}
	}
	return nil
}

func firewallFindings(f *nodereport.Firewall) []Finding {
	const again = "run the same airgap install or airgap join again: it adds the openings"
	switch {
	case f == nil || !f.Running && !f.Opened && !f.Later:
		return nil
	case !f.Running && !f.Opened:
		return []Finding{{Object: ", firewalld", Saw: "the next boot starts it, without airgap's openings", Want: "off, as at the installation", Fix: "systemctl disable firewalld; or systemctl start firewalld, and " + again}}
	case !f.Running:
		return []Finding{{Object: ", firewalld", Saw: "it does not run", Want: "running, as at the installation", Fix: "systemctl enable --now firewalld; journalctl -u firewalld"}}
	case !f.Opened:
		return []Finding{{Object: ", firewalld", Saw: "it runs without airgap's openings", Want: "not running, as at the installation, or with the openings", Fix: again}}
	case len(f.Missing) > 0:
		return []Finding{{Object: ", firewalld", Saw: "missing: " + result.Abbreviate(f.Missing), Want: "all openings of the cluster", Fix: "find the program that removed them; " + again}}
	}
	return nil
}

// nameServerFindings compares without the order: CoreDNS asks all of them.
func nameServerFindings(n nodereport.HostNetwork) []Finding {
	var findings []Finding
	for _, p := range n.DNSPods {
		if sameSet(p.NameServers, n.NameServers) {
			continue
		}
		findings = append(findings, Finding{
			Object: ", Pod " + p.Name, Saw: "it asks " + listOr(p.NameServers), Want: "the name servers of its host: " + listOr(n.NameServers),
			Fix: "compare resolv.conf with the site's name servers; then restart CoreDNS, which copies it: kubectl -n kube-system rollout restart deployment coredns",
		})
	}
	return findings
}

func listOr(servers []string) string {
	if len(servers) == 0 {
		return "none"
	}
	return strings.Join(servers, ", ")
}

func sameSet(a, b []string) bool {
	in := func(list []string) func(string) bool { return func(s string) bool { return !slices.Contains(list, s) } }
	return !slices.ContainsFunc(a, in(b)) && !slices.ContainsFunc(b, in(a))
}
