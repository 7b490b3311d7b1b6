package agent

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

// vipFindings measures, and returns the findings about the load balancer with their owners.
func (n *network) vipFindings(at string, patience netprobe.Seconds) string {
	n.t.Helper()
	plan := n.plan()
	plan.TCP, plan.VXLAN, plan.UDP, plan.Pods = plan.TCP[:1], nil, nil, netip.Prefix{}
	plan.VIP, plan.Patience = at, patience
	m := n.matrix(plan)
	var said []string
	for _, f := range m.Findings(netprobe.Needs{TCP: plan.TCP}) {
		if f.About == netprobe.AboutVIP {
			said = append(said, fmt.Sprintf("%s, %s: %s: %s", f.Severity, f.Owner, f.What, strings.Join(f.Between, ", ")))
		}
	}
	views, err := json.Marshal(map[string]any{"vips": m.VIPs, "behind": m.Behind})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Logf("%.3000s", views)
	return strings.Join(said, "\n")
}

const (
	allHosts = "h0 (10.99.0.1), h1 (10.99.0.2), h2 (10.99.0.3), h3 (10.99.0.4)"
	masters  = "h0 (10.99.0.1), h1 (10.99.0.2), h2 (10.99.0.3)"
)

// TestBalancerShapes tests correct load balancers of several kinds, and ones with a fault in the way
// that they carry connections.
func TestBalancerShapes(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 5) // three control-plane hosts, a worker, and the load balancer
	all := behind(n.hosts[:3])
	turns := func(netip.Addr) []string { return all }
	least := &leastConnections{all: all, open: map[string]int{}}
	own, err := netprobe.NewToken().Identity()
	if err != nil {
		t.Fatal(err)
	}
	own.ClientAuth = tls.NoClientCert
	token := netprobe.NewToken()
	agents, err := token.Identity()
	if err != nil {
		t.Fatal(err)
	}
	agents.Certificates = nil
	for _, test := range []struct {
		name    string
		targets func(from netip.Addr) []string
		carry   func(conn, back net.Conn)
		want    string
	}{
		{"least connections", least.targets, least.carry, ""},
		{"hash of addresses and ports", least.random, forward, ""},
		{"PROXY protocol 1", turns, sendFirst("PROXY TCP4 10.99.0.1 10.99.0.5 4711 6443\r\n"),
			"fail, balancer: the load balancer sends a header of the PROXY protocol (v1) to these hosts, which the API server does not read: " + masters},
		{"PROXY protocol 2", turns, sendFirst(proxyV2 + "\x21\x11\x00\x0c" + "abcdabcdabab"),
			"fail, balancer: the load balancer sends a header of the PROXY protocol (v2) to these hosts, which the API server does not read: " + masters},
		{"terminates TLS", turns, terminate(own, nil), "fail, balancer: the load balancer terminates TLS (CN=netprobe) for these hosts: " + allHosts},
		{"terminates TLS and opens its own", turns, terminate(own, agents), "fail, balancer: the load balancer terminates TLS (CN=netprobe) for these hosts: " + allHosts},
		{"terminates TLS with a certificate without names", turns, terminate(withoutNames(t), nil),
			"fail, balancer: the load balancer terminates TLS, or another service answers (CN=old), for these hosts: " + allHosts},
		{"HTTP", turns, func(conn, _ net.Conn) {
			_, _ = conn.Read(make([]byte, 1))
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		}, "fail, balancer: another service answers these hosts without TLS (HTTP): " + allHosts},
		{"small handshakes only", turns, smallHello, "fail, balancer: the load balancer does not answer these hosts if the first message of TLS is larger than one packet"},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := n.relay(t, 4, test.targets, test.carry)
			hosts := &network{t: t, number: n.number, hosts: n.hosts[:4], token: token}
			if got := hosts.vipFindings(at, 9); got != test.want && (test.want == "" || !strings.HasPrefix(got, test.want)) {
				t.Errorf("says\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// TestPersistence tests load balancers that connect each client to the same host every time.
func TestPersistence(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 5)
	all := behind(n.hosts[:3])
	other := func(from netip.Addr) []string {
		i := slices.IndexFunc(n.hosts, func(h netprobe.Host) bool { return h.Address == from })
		return all[(i+1)%2 : (i+1)%2+1] // never the third one
	}
	first := func(netip.Addr) []string { return all[:1] }
	const each = "warn, balancer: the load balancer connects each of these hosts to the same control-plane host every time (persistence by source address), " +
		"so hairpin connections are not tested: " + allHosts
	for _, test := range []struct {
		name    string
		targets func(from netip.Addr) []string
		checks  bool
		want    string
	}{
		{"by address", other, false, each + "\nwarn, balancer: the load balancer sends no requests to these hosts: h2 (10.99.0.3)"},
		{"by address, with health checks", other, true, each},
		{"by network", first, true, "warn, balancer: the load balancer sends health checks to these hosts, but all requests to another one " +
			"(persistence by source network, or a standby), so hairpin connections are not tested: h1 (10.99.0.2), h2 (10.99.0.3)"},
		{"one host only", first, false, "fail, balancer: the load balancer sends no requests to these hosts: h1 (10.99.0.2), h2 (10.99.0.3)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := n.relay(t, 4, test.targets, forward)
			if test.checks {
				n.check(t, 4, all)
			}
			hosts := &network{t: t, number: n.number, hosts: n.hosts[:4]}
			if got := hosts.vipFindings(at, 6); got != test.want {
				t.Errorf("says\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// TestNarrowLegs tests legs of connections that lose large packets in one direction.
func TestNarrowLegs(t *testing.T) {
	t.Parallel()
	const fault = "fail, balancer: large packets "
	for name, test := range map[string]struct{ rule, want string }{
		"to the load balancer":   {"ip saddr 10.99.0.4 ip daddr 10.99.0.5", fault + "from these hosts to the load balancer are lost: h3 (10.99.0.4)"},
		"from the load balancer": {"ip saddr 10.99.0.5 ip daddr 10.99.0.4", fault + "from the load balancer to these hosts are lost: h3 (10.99.0.4)"},
		"to a host behind it":    {"ip saddr 10.99.0.5 ip daddr 10.99.0.2", fault + "from the load balancer to these hosts are lost: h1 (10.99.0.2)"},
		"from a host behind it":  {"ip saddr 10.99.0.2 ip daddr 10.99.0.5", fault + "from these hosts to the load balancer are lost: h1 (10.99.0.2)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, 5)
			n.lose(test.rule + " ip length > 1400 drop")
			at := n.relay(t, 4, func(netip.Addr) []string { return behind(n.hosts[:3]) }, forward)
			hosts := &network{t: t, number: n.number, hosts: n.hosts[:4]}
			if got := hosts.vipFindings(at, 12); got != test.want {
				t.Errorf("says\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// behind are the API servers of the hosts.
func behind(hosts []netprobe.Host) (all []string) {
	for _, h := range hosts {
		all = append(all, netip.AddrPortFrom(h.Address, netprobe.APIServer).String())
	}
	return all
}

// leastConnections selects the first host with the fewest connections.
type leastConnections struct {
	mu   sync.Mutex
	all  []string
	open map[string]int
	next int
}

func (l *leastConnections) targets(netip.Addr) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	fewest := slices.MinFunc(l.all, func(a, b string) int { return l.open[a] - l.open[b] })
	l.open[fewest]++
	return []string{fewest}
}

func (l *leastConnections) carry(conn, back net.Conn) {
	forward(conn, back)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[back.RemoteAddr().String()]--
}

// random selects hosts in no order.
func (l *leastConnections) random(netip.Addr) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = (l.next*5 + 7) % 31
	return []string{l.all[l.next%3]}
}

func sendFirst(header string) func(conn, back net.Conn) {
	return func(conn, back net.Conn) {
		_, _ = io.WriteString(back, header)
		forward(conn, back)
	}
}

// terminate terminates TLS, and passes the content on, in TLS if again is not nil.
func terminate(own, again *tls.Config) func(conn, back net.Conn) {
	return func(conn, back net.Conn) {
		inside := tls.Server(conn, own)
		if inside.Handshake() != nil {
			return
		}
		if again != nil {
			back = tls.Client(back, again)
		}
		forward(inside, back)
	}
}

// withoutNames has a certificate that clients cannot pin.
func withoutNames(t *testing.T) *tls.Config {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "old"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, public, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// smallHello passes only handshakes with a small first message.
func smallHello(conn, back net.Conn) {
	r := bufio.NewReader(conn)
	header, err := r.Peek(5)
	if err == nil && binary.BigEndian.Uint16(header[3:]) < 1000 {
		forward(peeked{conn, r, ""}, back)
		return
	}
	_, _ = io.Copy(io.Discard, conn)
}

// check opens connections to the hosts, as health checks do, until the test ends.
func (n *network) check(t *testing.T, from int, hosts []string) {
	t.Helper()
	done := make(chan struct{})
	var checking sync.WaitGroup
	checking.Go(func() {
		for {
			for _, to := range hosts {
				inside(t, n, from, func() error {
					if conn, err := net.DialTimeout("tcp4", to, time.Second); err == nil {
						conn.Close()
					}
					return nil
				})
			}
			select {
			case <-done:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() { close(done); checking.Wait() })
}

// FuzzProxy: a header of the PROXY protocol is removed or leaves the connection to another program.
func FuzzProxy(f *testing.F) {
	f.Add([]byte("PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\n\x16"))
	f.Add([]byte(proxyV2 + "\x21\x11\x00\x0cabcdabcdabab\x16"))
	f.Add([]byte("GET /netprobe/00 HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bufio.NewReader(bytes.NewReader(b))
		version, err := skipProxy(r)
		rest, _ := io.ReadAll(r)
		if err == nil && version == "" && !bytes.Equal(rest, b) || !bytes.HasSuffix(b, rest) || len(b)-len(rest) > proxyV2Length+proxyV2Most {
			t.Errorf("%q: %q, %v, leaves %q", b, version, err, rest)
		}
		_ = httpMessage(bufio.NewReader(bytes.NewReader(b)))
		_ = httpAnswer(b)
	})
}
