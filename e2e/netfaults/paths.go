package netfaults

import (
	"context"
	"fmt"
	"time"

	"airgap.dev/airgap/e2e/lab"
)

// ha is a cluster of three control-plane hosts behind a load balancer.
var (
	ha       = lab.Plan{Balanced: true}
	switched = lab.Plan{Shape: lab.Switched}
	twoPaths = lab.Plan{Shape: lab.TwoPaths}
	jumbo    = lab.Plan{MTU: 9000}
)

// portFaults are about ports, protocols and directions.
func portFaults() []Fault {
	const kubelet = `TCP 10250 \(kubelet\)`
	return []Fault{
		{Name: "a port is closed in one direction", Make: []change{forward("ip saddr $node2 ip daddr $node3 tcp dport 10250 drop")},
			Says: []Finding{Finding{Status: stops, Owner: networkTeam, What: kubelet + " does not arrive"}.from(2, 3)}},
		{Name: "a port is rejected with a reset", Make: []change{forward("ip saddr $node3 ip daddr $node1 tcp dport 10250 reject with tcp reset")},
			Says: []Finding{Finding{Status: stops, Owner: networkTeam, What: kubelet}.from(3, 1)}},
		{Name: "a port is rejected with ICMP", Make: []change{forward("ip saddr $node3 ip daddr $node1 tcp dport 5000 reject with icmpx admin-prohibited")},
			Says: []Finding{Finding{Status: stops, Owner: networkTeam, What: `TCP 5000 \(`}.from(3, 1)}},
		{Name: "etcd's peers are separated", On: ha, Make: []change{balance(proxy{}), forward("ip saddr $node1 ip daddr $node2 tcp dport 2380 drop")},
			Says: []Finding{Finding{Status: stops, Owner: networkTeam, What: `TCP 2380 \(etcd`}.from(1, 2)}},
		{Name: "SYN+ACK is lost on the way back", Make: []change{forward("ip saddr $node3 ip daddr $node2 tcp sport 10250 tcp flags & (syn|ack) == syn|ack drop")},
			Says: []Finding{Finding{Status: stops, Owner: networkTeam, What: `TCP 10250.*(answer|reply|replies|SYN)`}.from(2, 3)}},
		{Name: "a stateful firewall is only on the way back", On: twoPaths, Make: asymmetric(),
			Says: []Finding{{Status: stops, Owner: networkTeam, What: `TCP 10250.*(answer|reply|replies|SYN)`, Where: way(2, 3)}}},
		{Name: "replies by UDP are lost", Make: []change{forward("ip saddr $node3 ip daddr $node2 udp sport { 6081, 8472, 4789 } drop")},
			Says: []Finding{{Status: notes, What: `UDP 6081.*(answer|reply|replies)`, Where: way(2, 3)}}},
		{Name: "protocol 4 is dropped", Make: []change{forward("ip protocol 4 drop")},
			Says: []Finding{{Status: notes, What: `IP in IP \(protocol 4\) does not arrive`, Where: everywhere}}},
		{Name: "one VXLAN port is dropped", Make: []change{forward("udp dport 8472 drop")},
			Says: []Finding{{Status: notes, What: `VXLAN on UDP 4789`}, {Status: notes, What: `VXLAN on UDP 8472 does not (arrive|pass)`, Where: everywhere}}},
		{Name: "both VXLAN ports are dropped in one direction", Make: []change{forward("ip saddr $node1 ip daddr $node2 udp dport { 8472, 4789 } drop")},
			Says: []Finding{Finding{Status: stops, Owner: networkTeam, What: `VXLAN on UDP 8472 does not (arrive|pass)`}.from(1, 2)}},
		{Name: "a firewall inspects the content of the tunnel", Make: []change{forward("udp dport { 8472, 4789 } @ih,0,8 0x08 drop")},
			Says: []Finding{{Status: stops, Owner: networkTeam, What: `VXLAN on UDP 8472`, Where: everywhere}}},
		{Name: "a hypervisor damages the tunnel's packets of the network card", On: twoPaths, Make: wholeFrames(constant(0)),
			Says: []Finding{{Status: stops, Owner: hypervisorTeam, What: `VXLAN on UDP 8472.*checksum`, Where: way(1, 3) + ".*" + way(3, 1)}}},
		{Name: "a switch drops pods' addresses", On: lab.Plan{Shape: lab.Switched, Config: "network: {encapsulation: native}\n"}, Make: []change{forward("ip saddr 10.244.0.0/16 drop")},
			Says: []Finding{{Status: stops, Owner: networkTeam, What: `pod addresses`, Where: everywhere}}},
		{Name: "a hypervisor drops pods' addresses of one host", On: lab.Plan{Shape: lab.Switched, Config: "network: {encapsulation: native}\n"}, Make: []change{forward("iifname node3 ip saddr 10.244.0.0/16 drop")},
			Says: []Finding{{Status: stops, Owner: networkTeam, What: `pod addresses`, Where: way(3, 1), Never: way(1, 3)}}},
	}
}

// asymmetric sends connections to node3 on the upper path, and their replies on the lower one, which
// has a stateful firewall. The connections that control the measurement do not pass a firewall.
func asymmetric() []change {
	return []change{
		ip(lab.RouterSpace, "route replace $node3/32 via 10.91.0.2"),
		ip(lab.FarRouter, "route replace 10.90.0.0/16 via 10.91.3.2"),
		sysctl(lab.LowerPath, "net.netfilter.nf_conntrack_tcp_loose=0"),
		forwardAt(lab.LowerPath, "ct state invalid drop"),
	}
}

// sizeFaults are about packets that are too large for a path.
func sizeFaults() []Fault {
	const narrow = `packets larger than `
	return []Fault{
		{Name: "a path is narrow, without ICMP", Make: small("ip length > 1400 drop"),
			Says: []Finding{{Status: stops, Owner: networkTeam, What: narrow + "1400", Where: everywhere}}},
		{Name: "a path is narrow in one direction", Make: small("ip saddr $node1 ip daddr $node3 ip length > 1400 drop"),
			Says: []Finding{Finding{Status: stops, Owner: networkTeam, What: narrow + "1400"}.from(1, 3)}},
		{Name: "a path is narrow in the other direction", Make: small("ip saddr $node3 ip daddr $node1 ip length > 1400 drop"),
			Says: []Finding{Finding{Status: stops, Owner: networkTeam, What: narrow + "1400"}.from(3, 1)}},
		{Name: "a link is narrow, and its routers send no ICMP", On: twoPaths, Make: append(narrowLink(1400), silent(lab.RouterSpace), silent(lab.FarRouter)),
			Says: []Finding{{Status: stops, Owner: networkTeam, What: narrow + "1400", Where: way(1, 3)}}},
		{Name: "one of the VXLAN ports passes, and is narrow", Make: small("udp dport 8472 drop", "udp dport 4789 ip length > 1300 drop"),
			Says: []Finding{{Status: matters, Owner: networkTeam, What: `VXLAN on UDP 4789.*large`}}},
		{Name: "a narrow path clamps the segments of TCP", Make: small("tcp flags & syn == syn tcp option maxseg size set 1360", "ip length > 1400 drop"),
			Says: []Finding{{Status: notes, What: `1400`}}},
		{Name: "jumbo frames on the hosts, not on the switch", On: lab.Plan{Shape: lab.Switched, MTU: 9000}, Make: small("ip length > 1500 drop"),
			Says: []Finding{{Status: stops, Owner: networkTeam, What: narrow + "1500", Where: everywhere}}},
		{Name: "jumbo frames on all ports of a switch but one", On: lab.Plan{Shape: lab.Switched, MTU: 9000}, Make: small("oifname node2 ip length > 1500 drop"),
			Says: []Finding{{Status: stops, Owner: networkTeam, What: narrow + "1500", Where: way(1, 2), Never: way(2, 1)}}},
	}
}

// small adds rules for sizes. The hosts send TCP in packets, not in the larger pieces that a network
// card divides into packets.
func small(rules ...string) []change {
	return []change{onHosts(func(node int) change { return ip(lab.Node(node), "link set eth0 gso_max_segs 1") }), forward(rules...)}
}

// shareFaults are about a share of the packets or flows.
func shareFaults() []Fault {
	const someFlows = `\d+ of \d+ (UDP|TCP) flows`
	const loss = `packets are lost.*\d+ of \d+ packets`
	return []Fault{
		{Name: "one of two paths is bad", On: twoPaths, Make: []change{forwardAt(lab.LowerPath, "ip saddr $node1 ip daddr $node3 drop")},
			Says: []Finding{{Status: stops, Owner: networkTeam, What: someFlows, Where: way(1, 3)}}},
		{Name: "one of two paths is bad for UDP", On: twoPaths, Make: []change{forwardAt(lab.LowerPath, "ip saddr $node1 ip daddr $node3 meta l4proto udp drop")},
			Says: []Finding{{Status: stops, Owner: networkTeam, What: `\d+ of \d+ UDP flows`, Where: way(1, 3)}}},
		{Name: "one of eight links loses TCP", Make: []change{forward("ip saddr $node2 ip daddr $node3 meta l4proto tcp jhash ip saddr . ip daddr . tcp sport . tcp dport mod 8 seed 0x5 == 3 drop")},
			Says: []Finding{{Status: stops, Owner: networkTeam, What: `\d+ of \d+ TCP flows`, Where: way(2, 3)}}},
		{Name: "one of four links loses all packets", Make: []change{forward("meta l4proto { tcp, udp } jhash ip saddr . ip daddr . th sport . th dport mod 4 seed 0x5 == 3 drop")},
			Says: []Finding{{Status: stops, Owner: networkTeam, What: someFlows}}},
		{Name: "5 % of the packets are lost", Make: []change{forward("ip saddr $node1 ip daddr $node2 numgen random mod 100 < 5 drop")},
			Says: []Finding{Finding{Status: matters, Owner: networkTeam, What: loss}.from(1, 2)}},
		{Name: "2 % of the packets are lost everywhere", Make: []change{forward("numgen random mod 100 < 2 drop")},
			Says: []Finding{{Status: warns, Owner: networkTeam, What: loss}}},
		{Name: "UDP is policed to 1 Mbit/s", Make: []change{forward("ip saddr $node1 ip daddr $node3 meta l4proto udp limit rate over 125 kbytes/second drop")},
			Says: []Finding{Finding{Status: matters, Owner: networkTeam, What: `limits the rate of UDP.*\d of \d+\.\d Mbit/s`}.from(1, 3)}},
		{Name: "a path is limited to 2 Mbit/s", Make: []change{run(lab.RouterSpace, "", "tc", "qdisc", "add", "dev", "node3", "root", "tbf", "rate", "2mbit", "burst", "16kb", "latency", "400ms")},
			Says: []Finding{{Status: matters, Owner: networkTeam, What: `limits the rate|slower than`, Where: way(1, 3), Never: way(1, 2)}}},
		{Name: "two data centers are far apart for etcd", On: lab.Plan{Shape: lab.TwoPaths, Balanced: true}, Make: append(wire(constant(60*time.Millisecond)), balance(proxy{})),
			Says: []Finding{{Status: matters, Owner: networkTeam, What: `round trip.* ms`, Where: way(1, 3)}}},
		{Name: "packets change their order", On: twoPaths, Make: wire(reordered),
			Says: []Finding{{Status: warns, Owner: networkTeam, What: `overtake`, Where: way(1, 3)}}},
	}
}

// wire makes the upper path a wire, on which frames take time. The routers divide the frames of
// tunnels first: a socket cannot read a frame of several packets of a tunnel.
func wire(delay func(n int) time.Duration) []change {
	const whole = "link set upper gso_max_segs 1"
	return append(wholeFrames(delay), ip(lab.RouterSpace, whole), ip(lab.FarRouter, whole))
}

// wholeFrames is a wire that loses the frames of tunnels that a network card divides into packets.
func wholeFrames(delay func(n int) time.Duration) []change {
	return []change{
		ip(lab.UpperPath, "addr flush dev router", "addr flush dev router2"),
		sysctl(lab.UpperPath, "net.ipv4.ip_forward=0"),
		ip(lab.FarRouter, "addr flush dev upper", "addr add 10.91.0.2/30 dev upper", "route replace 10.90.0.0/16 via 10.91.0.1"),
		ip(lab.RouterSpace, "route replace $node3/32 via 10.91.0.2"),
		func(ctx context.Context, r *lab.Racks) error {
			return r.Wire(ctx, lab.UpperPath, [2]string{lab.RouterSpace, lab.FarRouter}, delay)
		},
	}
}

// constant is a wire of a length.
func constant(delay time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return delay }
}

// reordered lets nine of ten frames overtake the tenth.
func reordered(n int) time.Duration {
	if n%10 == 0 {
		return 6 * time.Millisecond
	}
	return time.Millisecond
}

// narrowLink gives the paths between the two routers a smaller largest packet. The connections
// that control the measurement have smaller packets.
func narrowLink(mtu int) []change {
	var all []change
	for _, router := range []string{lab.RouterSpace, lab.FarRouter} {
		for _, path := range []string{lab.UpperPath, lab.LowerPath} {
			all = append(all, ip(router, fmt.Sprintf("link set %s mtu %d", path, mtu)), ip(path, fmt.Sprintf("link set %s mtu %d", router, mtu)))
		}
	}
	return append(all, run(lab.RouterSpace, "table inet clamp {\n\tchain c {\n\t\ttype filter hook forward priority -10;\n"+
		"\t\ttcp dport $meeting tcp flags syn tcp option maxseg size set 1200\n\t\ttcp sport $meeting tcp flags & syn == syn tcp option maxseg size set 1200\n\t}\n}\n", "nft", "-f", "-"))
}

// silent makes a router drop a packet that is too large without an ICMP message.
func silent(router string) change {
	return run(router, "table ip silent {\n\tchain c {\n\t\ttype filter hook output priority 0;\n\t\ticmp type destination-unreachable drop\n\t}\n}\n", "nft", "-f", "-")
}
