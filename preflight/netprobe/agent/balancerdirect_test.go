package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const directVIP = "10.99.9.9"

// direct makes the last host a load balancer with direct server return for the first three: it has
// the address, and changes only the hardware address of packets, by the client's port.
func (n *network) direct(hosts int) {
	n.t.Helper()
	at := len(n.hosts) - 1
	commands := fmt.Sprintf(`ip address add %[1]s/32 dev eth0
sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.eth0.send_redirects=0
ip rule add pref 20 lookup local
ip rule del pref 0
`, directVIP)
	rules := "table ip test {\nchain c {\ntype filter hook prerouting priority -150;\n"
	for i := range hosts {
		commands += fmt.Sprintf("ip rule add pref 10 fwmark %[1]d lookup %[2]d\nip route add %[3]s/32 table %[2]d via %[4]s\n", i+1, 100+i, directVIP, n.hosts[i].Address)
	}
	for i := range 8 { // the kernel's ports of clients are mostly even
		rules += fmt.Sprintf("ip daddr %s tcp sport & 14 == %d meta mark set %d\n", directVIP, 2*i, i%hosts+1)
	}
	rules += "}\n}\n"
	n.run(commands, "ip", "netns", "exec", n.space(at), "sh", "-e")
	n.run(rules, "ip", "netns", "exec", n.space(at), "nft", "-f", "-")
}

// own adds the load balancer's address to a host, with its settings of ARP.
func (n *network) own(host int, device string, ignore, announce int) {
	n.t.Helper()
	n.run(fmt.Sprintf("ip address add %s/32 dev %s\nsysctl -qw net.ipv4.conf.all.arp_ignore=%d net.ipv4.conf.all.arp_announce=%d\n", directVIP, device, ignore, announce),
		"ip", "netns", "exec", n.space(host), "sh", "-e")
}

// TestDirectReturn tests direct server return, in which each control-plane host has the address of
// the load balancer, and addresses that move between hosts.
func TestDirectReturn(t *testing.T) {
	t.Parallel()
	const bypass = "fail, hosts: these hosts have the load balancer's address on lo (direct server return) and announce it by ARP (arp_ignore 0, arp_announce 0), so clients bypass the load balancer: "
	for name, test := range map[string]struct {
		prepare func(n *network)
		want    string
	}{
		"correct": {func(n *network) {
			n.direct(3)
			for i := range 3 {
				n.own(i, "lo", 1, 2)
			}
		}, ""},
		"answer ARP": {func(n *network) {
			n.direct(3)
			for i := range 3 {
				n.own(i, "lo", 0, 0)
			}
		}, bypass + masters},
		"one answers ARP": {func(n *network) {
			n.direct(3)
			n.own(0, "lo", 1, 2)
			n.own(1, "lo", 0, 0)
			n.own(2, "lo", 1, 2)
		}, bypass + "h1 (10.99.0.2)"},
		"announce": {func(n *network) {
			// h0 knows the clients: otherwise it asks for them in the name of the load balancer.
			n.run("", "ip", "netns", "exec", n.space(0), "bash", "-c", "echo >/dev/udp/10.99.0.4/9; echo >/dev/udp/10.99.0.5/9; sleep 0.2")
			n.direct(3)
			n.own(0, "lo", 1, 0)
			n.own(1, "lo", 1, 2)
			n.own(2, "lo", 1, 2)
		}, "warn, hosts: these hosts do not answer ARP requests for the load balancer's address, but can announce it in their own ones (arp_announce below 2): h0 (10.99.0.1)"},
		"without the address": {func(n *network) {
			n.direct(2)
			n.own(0, "lo", 1, 2)
			n.own(1, "lo", 1, 2)
		}, "fail, hosts: these hosts do not have the load balancer's address, but other control-plane hosts have it for direct server return: h2 (10.99.0.3)\n" +
			"fail, balancer: the load balancer sends no requests to these hosts: h2 (10.99.0.3)"},
		"an address that moves": {func(n *network) { n.own(1, "eth0", 0, 0) }, ""},
		"on two hosts": {func(n *network) {
			n.own(0, "eth0", 0, 0)
			n.own(1, "eth0", 0, 0)
		}, "fail, hosts: several hosts have the load balancer's address at the same time: h0 (10.99.0.1), h1 (10.99.0.2)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, 6)
			test.prepare(n)
			hosts := &network{t: t, number: n.number, hosts: n.hosts[:5]}
			if got := hosts.vipFindings(directVIP+":6443", 6); got != test.want {
				t.Errorf("says\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// TestIPv6Name: a name with an IPv6 address is a warning, with the addresses from the hosts' resolvers.
func TestIPv6Name(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 4)
	at := n.relay(t, 3, nil, forward)
	hosts := &network{t: t, number: n.number, hosts: n.hosts[:3]}
	for i, lines := range []string{"10.99.0.4 api.test\nfd00::4 api.test\n", "10.99.0.4 api.test\n", "10.99.0.4 api.test\nfd00::4 api.test\n"} {
		dir := filepath.Join("/etc/netns", n.space(i))
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "hosts"), []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, port, _ := strings.Cut(at, ":")
	const want = "warn, dns: the endpoint's name also has an IPv6 address (fd00::4) on these hosts; clients with IPv6 prefer it, and the cluster has no IPv6: h0 (10.99.0.1), h2 (10.99.0.3)"
	if got := hosts.vipFindings("api.test:"+port, 3); !strings.HasSuffix(got, want) {
		t.Errorf("says %q, want %q", got, want)
	}
}
