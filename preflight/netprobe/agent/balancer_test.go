package agent

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

// TestIdle tests load balancers that keep idle connections, close them after a second, or drop them
// silently, as NAT does.
func TestIdle(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 4)
	hosts := n.hosts[:3]
	all := func(netip.Addr) []string {
		return []string{netip.AddrPortFrom(hosts[0].Address, 6443).String(), netip.AddrPortFrom(hosts[1].Address, 6443).String(), netip.AddrPortFrom(hosts[2].Address, 6443).String()}
	}
	for name, test := range map[string]struct {
		carry func(conn, back net.Conn)
		want  string
	}{
		"keeps": {forward, ""},
		"closes": {func(conn, back net.Conn) {
			copyUntilIdle(conn, back)
		}, "the load balancer closes connections of these hosts after 1 s without traffic: h0 (10.99.0.1), h1 (10.99.0.2), h2 (10.99.0.3)"},
		"drops": {func(conn, back net.Conn) {
			copyUntilIdle(conn, back)
			_, _ = io.Copy(io.Discard, conn)
		}, "the load balancer silently drops connections of these hosts within 2 s without traffic, first on the side of the control-plane hosts: h0 (10.99.0.1), h1 (10.99.0.2), h2 (10.99.0.3)"},
		"closes the client's side": {func(conn, back net.Conn) {
			copyUntilIdle(conn, back)
			conn.Close()
			_, _ = io.Copy(io.Discard, back)
		}, "the load balancer closes connections of these hosts after 1 s without traffic, first on the side of the clients: h0 (10.99.0.1), h1 (10.99.0.2), h2 (10.99.0.3)"},
		"closes the server's side": {func(conn, back net.Conn) {
			copyUntilIdle(conn, back)
			back.Close()
			_, _ = io.Copy(io.Discard, conn)
		}, "the load balancer silently drops connections of these hosts within 2 s without traffic, first on the side of the control-plane hosts: h0 (10.99.0.1), h1 (10.99.0.2), h2 (10.99.0.3)"},
		"closes one direction at the client's limit": {func(conn, back net.Conn) {
			copyUntilIdle(conn, back)
			closeOneDirection(conn, back)
		}, "the load balancer closes connections of these hosts after 1 s without traffic, first on the side of the clients: h0 (10.99.0.1), h1 (10.99.0.2), h2 (10.99.0.3)"},
		"closes one direction at the server's limit": {func(conn, back net.Conn) {
			copyUntilIdle(conn, back)
			closeOneDirection(back, conn)
		}, "the load balancer closes connections of these hosts after 1 s without traffic, first on the side of the control-plane hosts: h0 (10.99.0.1), h1 (10.99.0.2), h2 (10.99.0.3)"},
	} {
		t.Run(name, func(t *testing.T) {
			at := n.relay(t, 3, all, test.carry)
			n := &network{t: t, number: n.number, hosts: hosts}
			plan := n.plan()
			plan.VXLAN, plan.UDP, plan.VIP, plan.Patience, plan.Idle = nil, nil, at, 6, 2
			var said []string
			for _, f := range n.matrix(plan).Findings(netprobe.Needs{TCP: plan.TCP}) {
				if f.About == netprobe.AboutIdle {
					said = append(said, f.What+": "+strings.Join(f.Between, ", "))
				}
			}
			if got := strings.Join(said, "\n"); got != test.want {
				t.Errorf("says %q, want %q", got, test.want)
			}
		})
	}
}

// copyUntilIdle copies data in both directions until the connection is idle for a second.
func copyUntilIdle(a, b net.Conn) {
	const idle = time.Second
	last := time.Now().Add(idle)
	var mu sync.Mutex
	one := func(to, from net.Conn) {
		buf := make([]byte, 1<<14)
		for {
			mu.Lock()
			_ = from.SetReadDeadline(last)
			mu.Unlock()
			count, err := from.Read(buf)
			mu.Lock()
			over := time.Now().After(last)
			if count > 0 {
				last = time.Now().Add(idle)
			}
			mu.Unlock()
			if count > 0 {
				_, _ = to.Write(buf[:count])
			}
			if err != nil && (over || !errors.Is(err, os.ErrDeadlineExceeded)) {
				return
			}
		}
	}
	var both sync.WaitGroup
	both.Go(func() { one(a, b) })
	both.Go(func() { one(b, a) })
	both.Wait()
	_ = errors.Join(a.SetReadDeadline(time.Time{}), b.SetReadDeadline(time.Time{}))
}

// closeOneDirection does what HAProxy does when a leg was idle for too long: the other end gets a FIN, and
// its data still passes to the idle leg.
func closeOneDirection(idle, other net.Conn) {
	if half, is := other.(interface{ CloseWrite() error }); is {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(idle, other)
}

// TestBalancer tests a correct load balancer, and load balancers without one of the hosts, without
// hairpin connections, with TLS termination, and without a server.
func TestBalancer(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 5) // three control-plane hosts, a worker, and the load balancer
	hosts := n.hosts[:4]
	behind := func(i int) string { return netip.AddrPortFrom(hosts[i].Address, 6443).String() }
	all := []string{behind(0), behind(1), behind(2)}
	tests := []struct {
		name    string
		targets func(from netip.Addr) []string
		want    []string // of the findings
	}{
		{"correct", func(netip.Addr) []string { return all }, nil},
		{"without the third host", func(netip.Addr) []string { return all[:2] }, []string{"the load balancer sends no requests to these hosts: h2 (10.99.0.3)"}},
		{"no hairpin", func(from netip.Addr) []string {
			i := slices.IndexFunc(hosts, func(h netprobe.Host) bool { return h.Address == from })
			if i > 2 {
				return all
			}
			return append(slices.Delete(slices.Clone(all), i, i+1), "")
		}, []string{"the load balancer does not connect these hosts to themselves (hairpin): h0 (10.99.0.1)"}},
		{"terminates TLS", nil, []string{"the load balancer terminates TLS, or another service answers (CN=netprobe), for these hosts: h0 (10.99.0.1), h1"}},
		{"no server", func(netip.Addr) []string { return []string{"10.99.0.4:1"} }, []string{"the load balancer does not answer"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			at := n.relay(t, 4, test.targets, forward)
			n := &network{t: t, number: n.number, hosts: hosts}
			plan := n.plan()
			plan.VXLAN, plan.UDP, plan.VIP, plan.Patience = nil, nil, at, 6
			var said []string
			for _, f := range n.matrix(plan).Findings(netprobe.Needs{TCP: plan.TCP}) {
				if f.About == netprobe.AboutVIP {
					said = append(said, f.What+": "+strings.Join(f.Between, ", "))
				}
			}
			text := strings.Join(said, "\n")
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("says %q, want %q", text, want)
				}
			}
			if len(test.want) == 0 && len(said) > 0 {
				t.Errorf("a correct load balancer has the findings %q", text)
			}
		})
	}
}

// TestMovingAddress: a virtual IP address on the first control-plane host is no fault of the other
// hosts, but a host that does not reach it is a finding.
func TestMovingAddress(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 4)
	n.run("", "ip", "-n", n.space(0), "address", "add", "10.99.9.9/32", "dev", "eth0")
	plan := n.plan()
	plan.VXLAN, plan.UDP, plan.VIP, plan.Patience = nil, nil, "10.99.9.9:6443", 3
	findings := func() (holders []string, text string) {
		m := n.matrix(plan)
		for _, f := range m.Findings(netprobe.Needs{TCP: plan.TCP}) {
			if f.About == netprobe.AboutVIP {
				text += f.What + ": " + strings.Join(f.Between, ", ")
			}
		}
		return m.Holders(), text
	}
	if holders, got := findings(); !slices.Equal(holders, []string{"h0"}) || got != "" {
		t.Errorf("%v have the address; says %q", holders, got)
	}
	n.lose("ip saddr 10.99.0.2 ip daddr 10.99.9.9 drop")
	if _, got := findings(); got != "the load balancer does not answer these hosts (no reply): h1 (10.99.0.2)" {
		t.Errorf("says %q", got)
	}
}
