package netfaults

import "airgap.dev/airgap/e2e/lab"

// balancerFaults are about the load balancer of the control plane.
func balancerFaults() []Fault {
	fault := func(name string, p proxy, says ...Finding) Fault {
		return Fault{Name: "load balancer: " + name, On: ha, Make: []change{balance(p)}, Says: says}
	}
	says := func(status, what string) Finding { return Finding{Status: status, Owner: balancerTeam, What: what} }
	onRouter := func(name string, says Finding, changes ...change) Fault {
		return Fault{Name: "load balancer: " + name, On: ha, Make: changes, Says: []Finding{says}}
	}
	return []Fault{
		onRouter("none", says(stops, `balancer does not answer`)),
		fault("TLS is terminated", proxy{bind: "ssl", to: "ssl verify none"}, says(stops, `terminates TLS.*proxy.bank.example`)),
		fault("PROXY protocol", proxy{to: "send-proxy"}, says(stops, `PROXY`)),
		fault("PROXY protocol 2", proxy{to: "send-proxy-v2"}, says(stops, `PROXY`)),
		fault("persistence by source", proxy{by: "source"}, says(matters, `source|persist|always the same|sticky`)),
		fault("one member is missing", proxy{members: []int{1, 2}}, Finding{Status: stops, Owner: balancerTeam, What: `no requests|never`}.at(3)),
		fault("a wrong port on the members", proxy{port: 6444}, says(stops, `does not answer|no requests`)),
		fault("without health checks, one member is dead", proxy{checks: " ", members: []int{1, 2, 3, 9}}, says(stops, `does not always answer|no answer`)),
		fault("clients are idle for 3 s at most", proxy{client: "3s"}, says(warns, `3 s without traffic, first on the side of the clients`)),
		fault("members are idle for 3 s at most", proxy{server: "3s"}, says(warns, `3 s without traffic, first on the side of the control-plane hosts`)),
		onRouter("another web server has the address", says(stops, `another service|another server|HTTP|TLS`),
			ip(lab.RouterSpace, "addr add $vip/32 dev lo"), answer(6443, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", true)),
		onRouter("hairpin is not translated", Finding{Status: stops, Owner: balancerTeam, What: `themselves.*hairpin`, Where: "node1 .*node2 .*node3 "},
			translate("prerouting", "ip daddr $vip tcp dport 6443 dnat to numgen inc mod 3 map { 0 : $node1, 1 : $node2, 2 : $node3 }")),
		onRouter("a narrow leg", says(stops, `larger than|narrow|large|bytes|KiB`), balance(proxy{}), ip(lab.BalancerSpace, "link set eth0 gso_max_segs 1"), forward("ip saddr $balancer ip daddr $node3 ip length > 1000 drop")),
		onRouter("a narrow leg to the clients", says(stops, `larger than|narrow|large|bytes|KiB`), balance(proxy{}), ip(lab.BalancerSpace, "link set eth0 gso_max_segs 1"), forward("ip saddr $vip ip daddr $node2 ip length > 1000 drop")),
		onRouter("a firewall forgets idle connections", says(warns, `silently drops.*without traffic`), balance(proxy{}),
			sysctl(lab.RouterSpace, "net.netfilter.nf_conntrack_tcp_loose=0", "net.netfilter.nf_conntrack_tcp_timeout_established=3"),
			forward("tcp dport { 2379, 2380, 5000, 10250 } accept", "tcp sport { 2379, 2380, 5000, 10250 } accept", "ct state invalid drop")),
		{Name: "load balancer: direct server return, arp_ignore is 0", On: direct, Make: directReturn(0, 0), Says: []Finding{{Status: stops, Owner: hostTeam, What: `ARP.*arp_ignore 0`, Where: "node1 .*node3 "}}},
		{Name: "a virtual address is on two hosts", On: lab.Plan{Shape: lab.Switched, Balanced: true}, Make: []change{ip("node1", "addr add $vip/24 dev eth0"), ip("node2", "addr add $vip/24 dev eth0")},
			Says: []Finding{{Status: stops, Owner: hostTeam, What: `several hosts have the load balancer's address`, Where: `node1 .*node2 `}}},
	}
}

// direct is a network for direct server return: three control-plane hosts and a worker.
var direct = lab.Plan{Shape: lab.Switched, Balanced: true, Hosts: 4, ControlPlanes: 3}

// directReturn is a load balancer that changes only the hardware address. The servers have the
// address of the control plane, too, and must not answer ARP requests for it.
func directReturn(ignore, announce int) []change {
	return []change{
		ip(lab.BalancerSpace, "addr add $vip/32 dev eth0"),
		run(lab.BalancerSpace, `table netdev direct {
	chain c {
		type filter hook ingress device eth0 priority 0;
		ip daddr $vip tcp dport 6443 ether saddr set $macbalancer ether daddr set jhash ip saddr . tcp sport mod 3 map { 0 : $mac1, 1 : $mac2, 2 : $mac3 } fwd to eth0
	}
}
`, "nft", "-f", "-"),
		onHosts(func(node int) change {
			return sysctl(lab.Node(node), sprintf("net.ipv4.conf.all.arp_ignore=%d", ignore), sprintf("net.ipv4.conf.all.arp_announce=%d", announce))
		}),
		onHosts(func(node int) change { return ip(lab.Node(node), "addr add $vip/32 dev lo") }),
	}
}

// nameFaults are about name servers, which each host asks.
func nameFaults() []Fault {
	resolv := func(lines string) change {
		return onHosts(func(node int) change { return write(node, lab.ResolvConf, lines) })
	}
	fault := func(name, what, where string, changes ...change) Fault {
		return Fault{Name: name, Check: "name-servers", Make: changes, Says: []Finding{{Status: warns, Owner: dnsTeam, What: what, Where: where}}}
	}
	const shut = "table ip shut {\n\tchain c {\n\t\ttype filter hook input priority 0;\n\t\tip saddr $node2 tcp dport 53 drop\n\t}\n}\n"
	return []Fault{
		fault("a name server is dead", `10\.90\.53\.99: .*neither by UDP nor by TCP`, "node3", ip(lab.RouterSpace, "route add blackhole 10.90.53.99/32"), resolv("search bank.example\nnameserver $names\nnameserver 10.90.53.99\n")),
		fault("a name server has no TCP", `10\.90\.53\.54: .* by TCP; it answers by UDP`, "node3", names(54, "", false), resolv("search bank.example\nnameserver 10.90.53.54\n")),
		fault("a search domain has a wildcard record", `10\.90\.53\.55 has an address \(192\.0\.2\.1\) for every name in bank\.example`, "node3", names(55, "bank.example", true), resolv("search bank.example\nnameserver 10.90.53.55\n")),
		fault("the network drops DNS by TCP of one host", `10\.90\.53\.53: .* by TCP; it answers by UDP`, "node2", run(lab.RouterSpace, shut, "nft", "-f", "-")),
	}
}
