package agent

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"airgap.dev/airgap/preflight/netprobe"
)

// TestSources: another source address is named with both addresses, and with its owner: the sender's
// routes, source NAT on the sending host, or source NAT between the hosts.
func TestSources(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 4)
	// The routes of the first host choose a second address.
	n.run("", "ip", "-n", n.space(0), "address", "add", "10.99.5.1/32", "dev", "eth0")
	n.run("", "ip", "-n", n.space(0), "route", "add", "10.99.0.3/32", "dev", "eth0", "src", "10.99.5.1")
	// The second host rewrites TCP itself.
	n.run("", "ip", "-n", n.space(1), "address", "add", "10.99.5.2/32", "dev", "eth0")
	n.run("table ip nat { chain c { type nat hook postrouting priority 100; ip daddr 10.99.0.3 meta l4proto tcp snat to 10.99.5.2; }; }", "ip", "netns", "exec", n.space(1), "nft", "-f", "-")
	// The network rewrites TCP and UDP of the fourth host.
	var card *net.Interface
	inside(t, n, 3, func() (err error) { card, err = net.InterfaceByName("eth0"); return err })
	n.run("", "ip", "-n", n.space(2), "neigh", "add", "10.99.5.4", "lladdr", card.HardwareAddr.String(), "dev", "eth0")
	n.lose("ip saddr 10.99.0.4 ip daddr 10.99.0.3 th dport { 6443, 10250, 6081 } ip saddr set 10.99.5.4", "ip saddr 10.99.0.3 ip daddr 10.99.5.4 ip daddr set 10.99.0.4")
	plan := n.plan()
	plan.VXLAN = nil
	m := n.matrix(plan)
	only(t, m, nil)
	at := netip.MustParseAddr
	want := []netprobe.Rewritten{
		{From: 0, To: 2, Protocol: "TCP", Left: at("10.99.5.1"), Arrived: at("10.99.5.1")},
		{From: 1, To: 2, Protocol: "TCP", Left: at("10.99.0.2"), Arrived: at("10.99.5.2"), ByHost: true},
		{From: 3, To: 2, Protocol: "TCP", Left: at("10.99.0.4"), Arrived: at("10.99.5.4")},
		{From: 3, To: 2, Protocol: "UDP", Left: at("10.99.0.4"), Arrived: at("10.99.5.4")},
	}
	if fmt.Sprint(m.Rewritten) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", m.Rewritten, want)
	}
	text := fmt.Sprint(m.Findings(netprobe.Needs{TCP: plan.TCP}))
	for _, want := range []string{
		"{fail ports hosts TCP connections have another source address than in airgap.yaml, because the sender's routes choose it " +
			"[from h0 (10.99.0.1) to h2 (10.99.0.3): comes from 10.99.5.1 instead of 10.99.0.1]",
		"{fail ports hosts source NAT on the sending host changes the source address of TCP [from h1 (10.99.0.2) to h2 (10.99.0.3): leaves as 10.99.0.2, arrives as 10.99.5.2] exclude",
		"{warn ports network source NAT between the hosts changes the source address of TCP [from h3 (10.99.0.4) to h2 (10.99.0.3): leaves as 10.99.0.4, arrives as 10.99.5.4] exclude",
		"{warn ports network source NAT between the hosts changes the source address of UDP",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, f := range m.Findings(netprobe.Needs{TCP: plan.TCP, OpensFirewall: true}) {
		if f.Severity != netprobe.Stops {
			t.Errorf("the firewall rules of the installation admit the hosts' addresses only: %+v", f)
		}
	}
}
