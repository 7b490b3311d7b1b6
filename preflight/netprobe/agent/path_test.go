package agent

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

// pathNeeds is a cluster that chose its packet size.
func pathNeeds(plan netprobe.Plan) netprobe.Needs {
	return netprobe.Needs{TCP: plan.TCP, VXLAN: plan.VXLAN[0]}
}

// said returns the findings about paths and sizes as text.
func said(m *netprobe.Matrix, n netprobe.Needs) string {
	var lines []string
	for _, f := range m.Findings(n) {
		if slices.Contains([]netprobe.About{netprobe.AboutPaths, netprobe.AboutLatency, netprobe.AboutSize}, f.About) {
			lines = append(lines, fmt.Sprintf("%s %s %s: %s", f.Severity, f.Owner, f.What, strings.Join(f.Between, "; ")))
		}
	}
	return strings.Join(lines, "\n")
}

func pathOf(t *testing.T, m *netprobe.Matrix, from, to int) netprobe.Path {
	t.Helper()
	for _, p := range m.Paths {
		if p.From == from && p.To == to {
			return p
		}
	}
	t.Fatalf("no numbers from %d to %d", from, to)
	return netprobe.Path{}
}

// TestPathsOfOpenNetwork: a clean network has numbers for each path, and no finding.
func TestPathsOfOpenNetwork(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 3)
	plan := n.plan()
	m := n.matrix(plan)
	if got := said(m, pathNeeds(plan)); got != "" {
		t.Error(got)
	}
	if len(m.Paths) != 6 {
		t.Errorf("%d paths", len(m.Paths))
	}
	for _, p := range m.Paths {
		bad := p.TCP == nil || p.TCP.Tried != netprobe.FlowCount || len(p.TCP.Lost) > 0 || p.UDP == nil || p.UDP.Port != 8472 || len(p.UDP.Lost) > 0 ||
			p.Trains[0].Sent != netprobe.FlowCount*pacedRounds || p.Bursts[0].Sent != burstPackets ||
			p.Latency.Samples != samples || p.Latency.Min > p.Latency.Median || p.Latency.Median > p.Latency.P99 || p.Latency.Handshake == 0 ||
			p.Streams[0].Sent < leastStream || p.Streams[0].Rate() == 0 || p.Streams[0].PathMTU != 1500
		if bad {
			t.Errorf("%+v\n%+v %+v %+v", p, p.TCP, p.UDP, p.Latency)
		}
	}
}

// TestPathFaults: each fault of a path is named as what it is, for its direction.
func TestPathFaults(t *testing.T) {
	t.Parallel()
	ab := "ip saddr 10.99.0.1 ip daddr 10.99.0.2 "
	for name, test := range map[string]struct {
		rules []string
		want  []string // of all findings about paths, in order
	}{
		"bad member": {
			[]string{
				ab + "meta l4proto udp jhash udp sport mod 2 0 drop",
				ab + "meta l4proto tcp jhash tcp sport mod 2 0 drop",
			},
			[]string{"fail network some flows are always lost, the others pass: one link of a port channel (LAG) or one of several routes (ECMP) drops packets: from h0 (10.99.0.1) to h1 (10.99.0.2): "},
		},
		"loss": {
			[]string{ab + "udp dport 8472 numgen random mod 100 < 3 drop"},
			[]string{"warn network packets are lost on the way: from h0 (10.99.0.1) to h1 (10.99.0.2): "},
		},
		"loss of 0.5 %": {
			[]string{ab + "udp dport 8472 numgen inc mod 200 == 0 drop"},
			[]string{"warn network packets are lost on the way: from h0 (10.99.0.1) to h1 (10.99.0.2): "},
		},
		"loss of 1 %": {
			[]string{ab + "udp dport 8472 numgen inc mod 100 == 0 drop"},
			[]string{"warn network packets are lost on the way: from h0 (10.99.0.1) to h1 (10.99.0.2): "},
		},
		"policed": {
			[]string{ab + "meta l4proto udp limit rate over 125 kbytes/second drop"},
			[]string{"fail network the network limits the rate of UDP: from h0 (10.99.0.1) to h1 (10.99.0.2): "},
		},
		"narrow": {
			[]string{ab + "ip length > 1400 drop"},
			[]string{"fail network host traffic (TCP) of full size does not pass, and no ICMP comes back: packets larger than 1400 bytes are lost, " +
				"but the interfaces send up to 1500: from h0 (10.99.0.1) to h1 (10.99.0.2)"},
		},
		"streams stall": {
			[]string{ab + "meta l4proto tcp ip length > 1400 drop"},
			[]string{"fail network TCP connections open, but a stream of data stalls: from h0 (10.99.0.1) to h1 (10.99.0.2): 0 of "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, 2)
			n.lose(test.rules...)
			plan := n.plan()
			m := n.matrix(plan)
			got := said(m, pathNeeds(plan))
			lines := strings.Split(got, "\n")
			for i, want := range test.want {
				if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
					t.Errorf("says\n%s\nwant %s", got, want)
				}
			}
			if len(lines) > len(test.want) {
				t.Errorf("says\n%s", got)
			}
		})
	}
}

// TestBadMemberMovesNothing: with one bad link of two, the choice keeps the configured port, and no
// port is reported as closed.
func TestBadMemberMovesNothing(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	n.lose("meta l4proto udp jhash udp sport . udp dport mod 2 0 drop", "meta l4proto tcp jhash tcp sport . tcp dport mod 2 0 drop")
	plan := n.plan()
	m := n.matrix(plan)
	if c, err := m.Choose(netprobe.Options{Ports: netprobe.Ports(8472), Native: true}); err != nil || c.Encapsulation != netprobe.VXLAN || c.Port != 8472 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, f := range m.Findings(pathNeeds(plan)) {
		if slices.Contains([]netprobe.About{netprobe.AboutPorts, netprobe.AboutVXLAN, netprobe.AboutSize}, f.About) {
			t.Errorf("%+v", f)
		}
	}
	for _, p := range m.Paths {
		if len(p.TCP.Lost) == 0 || len(p.UDP.Lost) == 0 {
			t.Errorf("%+v %+v", p.TCP, p.UDP)
		}
	}
}

// TestOnlyNarrowPort: the sizes are known if only the second port of the tunnel is open, and narrow.
func TestOnlyNarrowPort(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	n.lose("udp dport { 8472, 6081 } drop", "udp dport 4789 ip length > 1400 drop")
	m := n.matrix(n.plan())
	if v := result(t, m, 0, 1, netprobe.Size, 0); v.State != netprobe.Narrow || v.Size != 1400 {
		t.Errorf("%+v", v)
	}
	if c, err := m.Choose(netprobe.Options{Ports: netprobe.Ports(8472)}); err != nil || c.Port != 4789 || c.MTU != 1400 {
		t.Errorf("%+v, %v", c, err)
	}
}

// routed returns two hosts with a router between them. The link behind the router carries 1,400
// bytes, and the router answers with ICMP.
func routed(t *testing.T, rules ...string) *network {
	t.Helper()
	n := newNetwork(t, 2)
	n.run("", "sh", "-c", fmt.Sprintf(`set -e
ip -n %[1]s link del p0; ip -n %[1]s link del p1
ip -n %[2]s link add eth0 type veth peer name p0 netns %[1]s
ip -n %[3]s link add eth0 type veth peer name p1 netns %[1]s
ip -n %[2]s address add 10.99.0.1/24 dev eth0; ip -n %[3]s address add 10.98.0.1/24 dev eth0
ip -n %[1]s address add 10.99.0.254/24 dev p0; ip -n %[1]s address add 10.98.0.254/24 dev p1
ip -n %[1]s link set p1 mtu 1400
for link in "%[2]s eth0" "%[3]s eth0" "%[1]s p0" "%[1]s p1"; do set -- $link; ip -n $1 link set $2 up; done
ip -n %[2]s route add default via 10.99.0.254; ip -n %[3]s route add default via 10.98.0.254
ip netns exec %[1]s sysctl -qw net.ipv4.ip_forward=1`, n.space(-1), n.space(0), n.space(1)))
	n.hosts[1].Address = netip.MustParseAddr("10.98.0.1")
	n.rules(-1, "inet", "forward", rules)
	return n
}

// TestTrafficOfHosts: TCP works where routers answer with ICMP, or change the segment size. If ICMP
// is dropped, host traffic does not pass.
func TestTrafficOfHosts(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string][]string{
		"ICMP comes back":   nil,
		"the router clamps": {"tcp flags syn tcp option maxseg size set 1360"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := routed(t, rules...)
			plan := n.plan()
			m := n.matrix(plan)
			v := result(t, m, 0, 1, netprobe.Size, 0)
			if p := pathOf(t, m, 0, 1); v.State != netprobe.Narrow || p.Streams[0].Took == 0 {
				t.Errorf("%+v %+v", v, p.Streams)
			}
			needs := pathNeeds(plan)
			needs.MTU = 1400
			if got := said(m, needs); got != "" {
				t.Error(got)
			}
		})
	}
}

// TestUnsteadyRoundTrips: lost packets make single round trips between control-plane hosts long. A second
// measurement confirms it.
func TestUnsteadyRoundTrips(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	n.lose("ip saddr 10.99.0.1 ip daddr 10.99.0.2 meta l4proto tcp numgen inc mod 7 0 drop")
	plan := n.plan()
	m := n.matrix(plan)
	p := pathOf(t, m, 0, 1)
	if p.Again == nil || p.Again.Samples <= samples || p.Tail() < 50*time.Millisecond {
		t.Errorf("%+v, again %+v", p.Latency, p.Again)
	}
	if got := said(m, pathNeeds(plan)); !strings.Contains(got, "single round trips between members of etcd are longer than") {
		t.Errorf("says %q", got)
	}
}

// TestNarrowPort: a device drops the large packets of one port only.
func TestNarrowPort(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	n.lose("udp dport 8472 ip length > 1400 drop")
	m := n.matrix(n.plan())
	if c, err := m.Choose(netprobe.Options{Ports: []int{8472, 4789}}); err != nil || c.Port != 4789 || c.MTU != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if v := result(t, m, 0, 1, netprobe.VXLANTCP, 4789); v.State != netprobe.Open {
		t.Errorf("%+v", v)
	}
	if v := result(t, m, 0, 1, netprobe.VXLANTCP, 8472); v.State != netprobe.Narrow {
		t.Errorf("%+v", v)
	}
}
