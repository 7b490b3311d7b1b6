package netfaults

import "airgap.dev/airgap/e2e/lab"

// deviceFaults are about devices that read, answer or rewrite packets.
func deviceFaults() []Fault {
	const node1API = "iifname node2 ip daddr $node1 tcp dport 6443 "
	const tls = `TCP 6443.*(TLS|handshake|ClientHello|inspect)`
	const other = `TCP 6443.*(other|another|device|does not|answers|TLS)`
	return []Fault{
		{Name: "a device resets TLS", Make: []change{forward("tcp dport 6443 @ih,0,16 0x1603 reject with tcp reset")},
			Says: []Finding{{Status: stops, Owner: networkTeam, What: tls}}},
		{Name: "a device drops a large ClientHello", Make: []change{forward("ip saddr $node2 tcp dport 6443 ip length > 1000 drop")},
			Says: []Finding{{Status: stops, Owner: networkTeam, What: `TCP 6443|larger than`, Where: way(2, 1)}}},
		{Name: "a device replaces the certificate", Make: []change{
			balance(proxy{space: lab.RouterSpace, listen: ":16443", bind: "ssl", to: "ssl verify none", members: []int{1}, checks: " "}),
			translate("prerouting", node1API+"redirect to :16443")},
			Says: []Finding{{Status: stops, Owner: networkTeam, What: tls + `|` + other, Where: way(2, 1)}}},
		{Name: "a device completes the handshake and drops the data", Make: []change{forward("ip saddr $node2 ip daddr $node1 tcp dport 6443 tcp flags & psh == psh drop")},
			Says: []Finding{{Status: stops, Owner: networkTeam, What: `TCP 6443`, Where: way(2, 1)}}},
		{Name: "a device accepts in a host's place and is silent", Make: []change{answer(17000, "", false), translate("prerouting", node1API+"redirect to :17000")},
			Says: []Finding{{Status: stops, Owner: networkTeam, What: other, Where: way(2, 1)}}},
		{Name: "a proxy answers in a host's place", Make: []change{answer(17000, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", true), translate("prerouting", node1API+"redirect to :17000")},
			Says: []Finding{{Status: stops, Owner: networkTeam, What: other, Where: way(2, 1)}}},
		{Name: "a router translates source addresses", Make: []change{translate("postrouting", "ip saddr $node2 ip daddr $node1 masquerade")},
			Says: []Finding{{Status: matters, Owner: networkTeam, What: `source|NAT|address`, Where: way(2, 1)}}},
		{Name: "a router translates source addresses of TCP, everywhere", Make: []change{translate("postrouting", "ip protocol tcp masquerade")},
			Says: []Finding{{Status: matters, Owner: networkTeam, What: `source|NAT|address`}}},
		{Name: "a route has another source address", Make: []change{ip("node2", "addr add 10.90.2.77/24 dev eth0", "rule add ipproto tcp dport $meeting lookup 9 pref 10",
			"route add default via 10.90.2.1 dev eth0 src $node2 table 9", "route add 10.90.1.0/24 via 10.90.2.1 dev eth0 src 10.90.2.77")},
			Says: []Finding{{Status: matters, Owner: hostTeam, What: `source|10\.90\.2\.77`, Where: `node2 `}}},
		{Name: "another host has the same address", On: switched, Make: twin(),
			Says: []Finding{{Status: stops, Owner: networkTeam, What: `(same|duplicate|second|another|two).*(address|10\.90\.0\.12)|10\.90\.0\.12.*(twice|two|another)`, Where: `node2 |10\.90\.0\.12`}}},
		{Name: "two hosts are clones", Make: []change{write(2, lab.MachineID, "0123456789abcdef0123456789abcdef\n"), write(3, lab.MachineID, "0123456789abcdef0123456789abcdef\n")},
			Says: []Finding{Finding{Status: stops, Owner: hostTeam, What: `the same machine-id`}.at(2, 3)}},
		{Name: "two hosts have the same name", Make: []change{write(3, lab.HostName, "node2\n")},
			Says: []Finding{Finding{Status: stops, Owner: hostTeam, What: `the same host name`}.at(2, 3)}},
	}
}

// twin gives the address of node2 to another machine on the switch. The others know the hardware
// address of node2, so the measurement itself reaches node2.
func twin() []change {
	return []change{
		ip("node1", "neigh replace $node2 lladdr $mac2 dev eth0 nud permanent"),
		ip("node3", "neigh replace $node2 lladdr $mac2 dev eth0 nud permanent"),
		ip(lab.RouterSpace, "addr add $node2/32 dev br0"),
	}
}

// hostFaults are about the hosts' own packet filters.
func hostFaults() []Fault {
	input := func(rules string) string {
		return "table inet site {\n\tchain input {\n\t\ttype filter hook input priority 0; policy accept;\n\t\tct state established,related accept\n\t\tiif lo accept\n\t\ttcp dport { 22, $meeting } accept\n\t\t" + rules + "\n\t}\n}\n"
	}
	output := func(rule string) string {
		return "table inet site {\n\tchain output {\n\t\ttype filter hook output priority 0; policy accept;\n\t\t" + rule + "\n\t}\n}\n"
	}
	const services = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
		"-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n-A INPUT -p icmp -j ACCEPT\n-A INPUT -i lo -j ACCEPT\n" +
		"-A INPUT -p tcp -m multiport --dports 22,5999 -j ACCEPT\n-A INPUT -j REJECT --reject-with icmp-host-prohibited\nCOMMIT\n"
	return []Fault{
		{Name: "a host rejects at the end of an accepting chain (nftables.service)", Make: []change{firewall(3, input("ip protocol icmp accept\n\t\treject with icmpx admin-prohibited"))},
			Says: []Finding{{Status: stops, Owner: hostTeam, What: `TCP 10250.*(host|firewall)`, Where: way(1, 3), Never: way(3, 1)}}},
		{Name: "a host rejects as iptables-services does", Make: []change{run("node3", services, "iptables-nft-restore")},
			Says: []Finding{{Status: stops, Owner: hostTeam, What: `TCP 10250.*(host|firewall)`, Where: way(1, 3), Never: way(3, 1)}}},
		{Name: "a host drops one port", Make: []change{firewall(2, input("tcp dport 10250 drop"))},
			Says: []Finding{{Status: stops, Owner: hostTeam, What: `TCP 10250.*(host|firewall)`, Where: way(1, 2), Never: way(2, 1)}}},
		{Name: "a host drops VXLAN", Make: []change{firewall(2, input("udp dport { 8472, 4789 } drop"))},
			Says: []Finding{{Status: stops, Owner: hostTeam, What: `VXLAN on UDP 8472.*(host|firewall)`, Where: way(1, 2), Never: way(2, 1)}}},
		{Name: "a host does not send to a port", Make: []change{firewall(2, output("ip daddr $node3 tcp dport 10250 drop"))},
			Says: []Finding{Finding{Status: stops, Owner: hostTeam, What: `TCP 10250.*(leave|sending|output)`}.from(2, 3)}},
		{Name: "a host rejects its own packets to a port", Make: []change{firewall(2, output("ip daddr $node3 tcp dport 10250 reject with tcp reset"))},
			Says: []Finding{Finding{Status: stops, Owner: hostTeam, What: `TCP 10250.*(leave|sending|output)`}.from(2, 3)}},
		{Name: "a host does not send UDP", Make: []change{firewall(2, output("meta l4proto udp ip daddr { $node1, $node3 } drop"))},
			Says: []Finding{{Status: stops, Owner: hostTeam, What: `VXLAN on UDP 8472.*(leave|sending|output)`, Where: way(2, 3), Never: way(3, 2)}}},
	}
}
