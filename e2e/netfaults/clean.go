package netfaults

import (
	"fmt"

	"airgap.dev/airgap/e2e/lab"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// clean are networks without a fault.
func clean() []Fault {
	haSwitched := lab.Plan{Shape: lab.Switched, Balanced: true}
	return []Fault{
		{Name: "clean: routers without NAT"},
		{Name: "clean: name servers", Check: "name-servers", Make: []change{names(56, "", true), onHosts(func(node int) change {
			return write(node, lab.ResolvConf, "search bank.example\nnameserver $names\nnameserver 10.90.53.56\n")
		})}},
		{Name: "clean: one switch", On: switched},
		{Name: "clean: two equal paths", On: twoPaths},
		{Name: "clean: jumbo frames on a switch", On: lab.Plan{Shape: lab.Switched, MTU: 9000}},
		{Name: "clean: jumbo frames through routers", On: jumbo},
		{Name: "clean: jumbo frames, and a router that answers with ICMP", On: jumbo, Make: []change{ip(lab.RouterSpace, "link set node3 mtu 1500"), ip("node3", "link set eth0 mtu 1500")}},
		{Name: "clean: a narrow link, routers that answer with ICMP, and network.mtu", On: lab.Plan{Shape: lab.TwoPaths, Config: "network: {mtu: 1400}\n"}, Make: narrowLink(1400)},
		{Name: "clean: pods' addresses on a switch", On: lab.Plan{Shape: lab.Switched, Config: "network: {encapsulation: native}\n"}},
		{Name: "clean: hosts with firewalls that accept the cluster's ports", Make: []change{onHosts(func(node int) change {
			return firewall(node, "table inet site {\n\tchain input {\n\t\ttype filter hook input priority 0; policy drop;\n\t\tct state established,related accept\n\t\tiif lo accept\n\t\tip protocol { icmp, 4 } accept\n"+
				"\t\ttcp dport { 22, $meeting, 2379, 2380, 5000, 6443, 10250, 10256, 30000-32767 } accept\n\t\tudp dport { 4789, 6081, 8472 } accept\n\t}\n}\n")
		})}},
		{Name: "clean: a stateful firewall that sees both directions", Make: []change{sysctl(lab.RouterSpace, "net.netfilter.nf_conntrack_tcp_loose=0"), forward("ct state invalid drop", "ct state established,related accept", "ct state new accept")}},
		{Name: "clean: a load balancer, round robin", On: ha, Make: []change{balance(proxy{})}},
		{Name: "clean: a load balancer, least connections", On: haSwitched, Make: []change{balance(proxy{by: "leastconn"})}},
		{Name: "clean: a router as load balancer, with source NAT", On: ha, Make: []change{
			translate("prerouting", "ip daddr $vip tcp dport 6443 dnat to numgen inc mod 3 map { 0 : $node1, 1 : $node2, 2 : $node3 }"),
			translate("postrouting", "ct original ip daddr $vip masquerade")}},
		{Name: "clean: a virtual address on one host (keepalived)", On: haSwitched, Make: []change{ip("node1", "addr add $vip/24 dev eth0")}},
		{Name: "clean: direct server return", On: direct, Make: directReturn(1, 2)},
		{Name: "clean: hosts with more addresses", Make: []change{onHosts(func(node int) change {
			return ip(lab.Node(node), sprintf("addr add 10.90.%d.21/24 dev eth0", node), sprintf("addr add 10.90.%d.22/32 dev lo", node))
		})}},
		{Name: "clean: hosts with a second card, and policy routing", Make: secondCards()},
		{Name: "clean: routing tables by source, as in a VRF", Make: []change{onHosts(func(node int) change {
			return ip(lab.Node(node), "route del default", sprintf("route add default via 10.90.%d.1 table 10", node), sprintf("rule add from $node%d table 10", node), "rule add to 10.90.0.0/16 table 10",
				sprintf("route add 10.90.%[1]d.0/24 dev eth0 src $node%[1]d table 10", node))
		})}},
	}
}

// secondCards connects all hosts to another network, too. Packets from its addresses stay in it.
func secondCards() []change {
	storage := []change{ip(lab.RouterSpace, "link add storage type bridge", "link set storage up")}
	for node := 1; node <= 3; node++ {
		storage = append(storage,
			ip(lab.RouterSpace, sprintf("link add second%[1]d type veth peer name eth1 netns @node%[1]d", node), sprintf("link set second%d master storage up", node)),
			ip(lab.Node(node), sprintf("addr add 10.92.0.%d/24 dev eth1", node), "link set eth1 up", "route add 10.92.0.0/24 dev eth1 table 11", sprintf("rule add from 10.92.0.%d table 11", node)))
	}
	return storage
}
