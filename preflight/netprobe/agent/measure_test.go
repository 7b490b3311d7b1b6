package agent

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netns"

	"airgap.dev/airgap/preflight/netprobe"
)

// TestOpenNetwork: a network without filters has no findings.
func TestOpenNetwork(t *testing.T) {
	n := newNetwork(t, 3)
	m := n.matrix(n.plan())
	for _, v := range m.Verdicts {
		if v.State != netprobe.Open {
			t.Errorf("%+v", v)
		}
	}
	// 6443, 2380 and the kubelet, UDP, protocol 4, pod addresses, two VXLANs, sizes: for six pairs.
	if len(m.Verdicts) != 6*9 || m.Tried != 6 || m.Of != 6 || len(m.Missing) > 0 {
		t.Errorf("%d verdicts, %d of %d pairs, missing %v", len(m.Verdicts), m.Tried, m.Of, m.Missing)
	}
	for _, d := range m.Duplicates { // the namespaces share the machine's identity
		if d.What == "MAC address" || len(d.Hosts) != 3 {
			t.Errorf("%+v", d)
		}
	}
	for _, s := range m.Skews {
		if s.Ahead.Abs() >= 500*time.Millisecond { // a busy machine can be slow between two readings of the clock
			t.Errorf("clocks of the same kernel differ: %+v", s)
		}
	}
	if len(m.Skews) != 6 {
		t.Errorf("clocks of %d pairs", len(m.Skews))
	}
}

// TestFaults: each fault is found for its hosts and in its direction, and nowhere else.
func TestFaults(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 4)
	n.lose(
		"ip protocol 4 ip saddr 10.99.0.1 ip daddr 10.99.0.2 drop",
		"ip saddr 10.99.0.1 ip daddr 10.99.0.3 tcp dport 2380 drop",
		"ip saddr 10.99.0.2 ip daddr 10.99.0.3 udp dport 8472 drop",
		"ip saddr 10.99.0.2 ip daddr 10.99.0.4 ip length > 1400 drop",
		"ip saddr 10.99.0.3 ip daddr 10.99.0.4 udp dport 6081 drop",
		"ip saddr 10.244.0.3 ip daddr 10.244.0.2 drop",
	)
	n.shut(2, "ip saddr 10.99.0.4 udp dport 4789 drop", "tcp dport 6443 ip saddr 10.99.0.4 reject with tcp reset")
	n.shut(3, "ip saddr 10.99.0.1 ip protocol 4 drop", "ip saddr 10.99.0.1 tcp dport 10250 drop")
	n.rules(0, "inet", "output", []string{"ip daddr 10.99.0.2 udp dport 6081 drop", "ip daddr 10.99.0.3 udp dport { 6081, 8472 } drop"})
	m := n.matrix(n.plan())
	want := map[netprobe.Verdict]netprobe.State{
		{From: 0, To: 1, Kind: netprobe.IPIP}:                 netprobe.NetworkCloses,
		{From: 0, To: 2, Kind: netprobe.TCP, Port: 2380}:      netprobe.NetworkCloses,
		{From: 1, To: 2, Kind: netprobe.VXLANTCP, Port: 8472}: netprobe.NetworkCloses,
		{From: 1, To: 3, Kind: netprobe.Size}:                 netprobe.Narrow,
		{From: 1, To: 3, Kind: netprobe.IPIP}:                 netprobe.Narrow,
		{From: 1, To: 3, Kind: netprobe.VXLANTCP, Port: 8472}: netprobe.Narrow,
		{From: 1, To: 3, Kind: netprobe.VXLANTCP, Port: 4789}: netprobe.Narrow,
		{From: 2, To: 3, Kind: netprobe.UDP, Port: 6081}:      netprobe.NetworkCloses,
		{From: 0, To: 1, Kind: netprobe.UDP, Port: 6081}:      netprobe.SenderCloses,
		{From: 0, To: 2, Kind: netprobe.UDP, Port: 6081}:      netprobe.SenderCloses,
		{From: 0, To: 2, Kind: netprobe.VXLANTCP, Port: 8472}: netprobe.SenderCloses,
		{From: 2, To: 1, Kind: netprobe.Routed}:               netprobe.NetworkCloses,
		{From: 3, To: 2, Kind: netprobe.VXLANTCP, Port: 4789}: netprobe.HostCloses,
		{From: 3, To: 2, Kind: netprobe.TCP, Port: 6443}:      netprobe.HostCloses,
		{From: 0, To: 3, Kind: netprobe.IPIP}:                 netprobe.HostCloses,
		{From: 0, To: 3, Kind: netprobe.TCP, Port: 10250}:     netprobe.HostCloses,
		// A ClientHello in one direction, and the certificate in the other one, fill a packet.
		{From: 1, To: 3, Kind: netprobe.TCP, Port: 10250}: netprobe.Narrow,
		{From: 3, To: 1, Kind: netprobe.TCP, Port: 10250}: netprobe.Narrow,
		{From: 3, To: 1, Kind: netprobe.TCP, Port: 6443}:  netprobe.Narrow,
	}
	for v, state := range want {
		if got := result(t, m, v.From, v.To, v.Kind, v.Port); got.State != state {
			t.Errorf("%+v, want %s", got, state)
		}
	}
	if got := result(t, m, 1, 3, netprobe.Size, 0); got.Size != 1400 || got.MTU != 1500 {
		t.Errorf("largest packet: %+v", got)
	}
	for _, v := range m.Verdicts {
		_, expected := want[netprobe.Verdict{From: v.From, To: v.To, Kind: v.Kind, Port: v.Port}]
		if v.State != netprobe.Open && !expected {
			t.Errorf("unexpected: %+v", v)
		}
	}
	n.isFree(1, 8472)
	n.isFree(3, 8472)
}

// TestSenderBlocks: a host that blocks all output, as in hardening guides, differs from a closed
// network. Its kernel reports no error for TCP and for packets in a tunnel.
func TestSenderBlocks(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	n.rules(0, "inet", "output", []string{"ip daddr 10.99.0.2 drop"})
	m := n.matrix(n.plan())
	for _, v := range m.Verdicts {
		if v.From == 0 && slices.Contains([]netprobe.Kind{netprobe.TCP, netprobe.UDP, netprobe.VXLANTCP, netprobe.Size}, v.Kind) && v.State != netprobe.SenderCloses {
			t.Errorf("%+v, want %s", v, netprobe.SenderCloses)
		}
	}
}

// isFree waits until a UDP port of a host is free: the kernel uses the port of a tunnel as long as
// the namespace exists.
func (n *network) isFree(host, port int) {
	n.t.Helper()
	var used []byte
	for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(100 * time.Millisecond) {
		var err error
		if used, err = exec.Command("ip", "netns", "exec", n.space(host), "ss", "-Hlnu", fmt.Sprintf("sport = :%d", port)).CombinedOutput(); err != nil {
			n.t.Fatalf("%v\n%s", err, used)
		}
		if len(used) == 0 {
			return
		}
	}
	n.t.Errorf("UDP %d of %s is still in use: %s", port, n.hosts[host].Name, used)
}

// TestDamage: the stream works only with checksums by the CPU.
func TestDamage(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	plan := n.plan()
	plan.VXLAN = []int{8472}
	const innerProtocol = "@th,312,8" // behind UDP, VXLAN, Ethernet and half of an IP header
	n.lose(fmt.Sprintf("udp dport 8472 @th,96,24 %d %s 6 drop", hostPlan{&plan}.vni(), innerProtocol))
	m := n.matrix(plan)
	for _, pair := range [][2]int{{0, 1}, {1, 0}} {
		if got := result(t, m, pair[0], pair[1], netprobe.VXLANTCP, 8472); got.State != netprobe.Damaged {
			t.Errorf("%+v", got)
		}
	}
	if c, err := m.Choose(netprobe.Options{Ports: []int{8472}}); err != nil || c.Port != 8472 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestSoftwareChecksums: the second network of a port does not use checksum offload.
func TestSoftwareChecksums(t *testing.T) {
	n := newNetwork(t, 2)
	n.run("", "sh", "-c", fmt.Sprintf("ip -n %s link add c0 type vxlan id 5 dstport 4000 dev eth0", n.space(0)))
	at, err := netns.GetFromName(n.space(0))
	if err != nil {
		t.Fatal(err)
	}
	var features map[string]bool
	err = enter(at, func() error {
		if err := checksumsInSoftware("c0"); err != nil {
			return err
		}
		e, err := ethtool.NewEthtool()
		if err != nil {
			return err
		}
		defer e.Close()
		features, err = e.Features("c0")
		return err
	})
	if on, known := features["tx-checksum-ip-generic"]; err != nil || on || !known {
		t.Errorf("checksum offload is still on: %v, %v", features, err)
	}
}

// TestChoice: the choice follows from the results, and its error names the failed pairs.
func TestChoice(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 3)
	n.lose("udp dport 8472 ip daddr 10.99.0.3 drop", "ip protocol 4 drop", "ip length > 1450 drop")
	m := n.matrix(n.plan())
	c, err := m.Choose(netprobe.Options{Ports: netprobe.Ports(8472)})
	why := strings.Join(c.Why, "\n")
	if err != nil || c.Encapsulation != netprobe.VXLAN || c.Port != 4789 || c.MTU != 1450 ||
		!strings.Contains(why, "VXLAN on UDP 8472 does not pass from h0 (10.99.0.1), h1 (10.99.0.2) to h2 (10.99.0.3)") || !strings.Contains(why, "protocol 4) does not pass") {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = m.Choose(netprobe.Options{Ports: []int{8472}})
	if err == nil || !strings.Contains(err.Error(), "Ask the network administrators to allow UDP to port 8472") {
		t.Errorf("%v", err)
	}
	if c, err := m.Choose(netprobe.Options{Ports: []int{8472}, Native: true}); err != nil || c.Encapsulation != netprobe.Native ||
		!strings.Contains(strings.Join(c.Why, "\n"), "which carries packets with pod addresses") {
		t.Errorf("%+v, %v", c, err)
	}
	findings := m.Findings(netprobe.Needs{TCP: n.plan().TCP, VXLAN: 8472})
	if len(findings) == 0 || findings[0].Severity != netprobe.Stops {
		t.Fatalf("%+v", findings)
	}
	text := fmt.Sprintf("%+v", findings)
	for _, want := range []string{
		"VXLAN on UDP 8472 does not arrive", "packets larger than 1450 bytes are lost, but the interfaces send up to 1500",
		"IP in IP (protocol 4) does not arrive", "between all hosts",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestForeignAddresses: if a network drops unknown addresses, the pod network needs a tunnel.
func TestForeignAddresses(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	n.lose("udp dport { 8472, 4789 } drop", "ip saddr != 10.99.0.0/16 drop")
	_, err := n.matrix(n.plan()).Choose(netprobe.Options{Ports: netprobe.Ports(8472), Native: true})
	if err == nil || !strings.Contains(err.Error(), "Without a tunnel, packets with pod addresses do not pass between all hosts") {
		t.Errorf("%v", err)
	}
}

// TestPrograms: a port that another program uses is open, and is no listen error.
func TestPrograms(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	at, err := netns.GetFromName(n.space(0))
	if err != nil {
		t.Fatal(err)
	}
	var other net.Listener
	if err := enter(at, func() (err error) { other, err = net.Listen("tcp4", ":10250"); return err }); err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go func() {
		for {
			conn, err := other.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("220 something else\r\n"))
			conn.Close()
		}
	}()
	m := n.matrix(n.plan())
	if got := result(t, m, 1, 0, netprobe.TCP, 10250); got.State != netprobe.Open || got.Why != "another program answers" {
		t.Errorf("%+v", got)
	}
}

// TestLeavesNothing: after a kill -9 during a measurement no interface, rule or process is left.
func TestLeavesNothing(t *testing.T) {
	n := newNetwork(t, 2)
	look := func() string {
		out, err := exec.Command(
			"sh",
			"-c",
			fmt.Sprintf("ip -n %[1]s link | sed 's/^[0-9]*: //'; ip -n %[1]s route; ip -n %[1]s neigh show nud permanent; ip netns exec %[1]s nft list ruleset; ip netns pids %[1]s", n.space(0)),
		).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	before := look()
	a := n.ready(0)
	if during := strings.ReplaceAll(look(), fmt.Sprintln(a.cmd.Process.Pid), ""); during != before {
		t.Errorf("while it listens the host has\n%s\nand had\n%s", during, before)
	}
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = a.cmd.Wait()
	if after := look(); after != before {
		t.Errorf("after a kill the host has\n%s\nand had\n%s", after, before)
	}
}

// TestInputEnds: an agent exits when its input ends, before and after its tests begin.
func TestInputEnds(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	for _, said := range []string{"", "begin\n"} {
		a := n.ready(0)
		if _, err := a.in.Write([]byte(said)); err != nil {
			t.Fatal(err)
		}
		a.in.Close()
		if err := a.cmd.Wait(); err == nil || !strings.Contains(a.stderr.String(), "the connection to the host that started the measurement ended") {
			t.Errorf("after %q: %v, %s", said, err, &a.stderr)
		}
	}
}

// TestLostHost: if an agent dies, the other hosts are measured, and the matrix lists the missing host.
func TestLostHost(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 3)
	links := map[int]netprobe.Link{}
	var agents []*process
	for i := range n.hosts {
		agents = append(agents, n.start(t.Context(), i))
		links[i] = netprobe.Link{In: agents[i].in, Out: agents[i].out}
	}
	reports, lost := netprobe.Coordinate(t.Context(), n.plan(), links, func(state string) {
		if state == netprobe.Ready {
			_ = agents[2].cmd.Process.Kill()
		}
	})
	for _, a := range agents {
		_ = a.cmd.Wait()
	}
	if len(reports) != 2 || len(lost) != 1 || lost[2] == nil {
		t.Fatalf("%d reports, lost %v", len(reports), lost)
	}
	m, err := netprobe.Judge(reports)
	if err != nil || len(m.Missing) != 1 || m.Missing[0] != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	if f := m.Findings(netprobe.Needs{VXLAN: 8472}); f[0].Severity != netprobe.Stops || !strings.Contains(strings.Join(f[0].Between, ""), "h2") {
		t.Errorf("%+v", f)
	}
}

// relay is a load balancer in a namespace. It connects each client to its targets in turn. Without
// targets it terminates TLS.
func (n *network) relay(t *testing.T, at int, targets func(from netip.Addr) []string, carry func(conn, back net.Conn)) string {
	t.Helper()
	space, err := netns.GetFromName(n.space(at))
	if err != nil {
		t.Fatal(err)
	}
	address := netip.AddrPortFrom(n.hosts[at].Address, 0).String()
	var listener net.Listener
	if err := enter(space, func() (err error) { listener, err = net.Listen("tcp4", address); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	own, err := netprobe.NewToken().Identity()
	if err != nil {
		t.Fatal(err)
	}
	own.ClientAuth = tls.NoClientCert
	turns := map[netip.Addr]int{}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if targets == nil { // terminate TLS
				go func() { _ = tls.Server(conn, own).Handshake(); conn.Close() }()
				continue
			}
			from := netip.MustParseAddrPort(conn.RemoteAddr().String()).Addr()
			to := targets(from)
			turns[from]++
			go func(target string) {
				defer conn.Close()
				if target == "" {
					time.Sleep(time.Second)
					return
				}
				var back net.Conn
				if enter(space, func() (err error) { back, err = net.DialTimeout("tcp4", target, time.Second); return err }) != nil {
					return
				}
				defer back.Close()
				carry(conn, back)
			}(to[turns[from]%len(to)])
		}
	}()
	return listener.Addr().String()
}

// forward copies data in both directions, like a load balancer.
func forward(conn, back net.Conn) {
	go func() { _, _ = io.Copy(back, conn) }()
	_, _ = io.Copy(conn, back)
}
