package agent

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

// device is a transparent proxy in the bridge's namespace. It accepts the connections from one host
// to a port of another, on behalf of that host.
func (n *network) device(t *testing.T, from, to, port int, answer func(conn net.Conn, dial func() (net.Conn, error))) {
	t.Helper()
	target := netip.AddrPortFrom(n.hosts[to].Address, uint16(port)).String()
	var listener net.Listener
	var mac net.HardwareAddr
	inside(t, n, -1, func() (err error) {
		br0, err := net.InterfaceByName("br0")
		if err != nil {
			return err
		}
		mac = br0.HardwareAddr
		listener, err = net.Listen("tcp4", ":0")
		return err
	})
	t.Cleanup(func() { listener.Close() })
	ways := fmt.Sprintf("ip saddr %s ip daddr %s tcp dport %d", n.hosts[from].Address, n.hosts[to].Address, port)
	name := fmt.Sprintf("device%d_%d_%d", from, to, port)
	text := fmt.Sprintf("table bridge %[1]s { chain c { type filter hook prerouting priority -300; %[2]s meta pkttype set host ether daddr set %[3]s; }; }\n"+
		"table ip %[1]s { chain c { type nat hook prerouting priority -100; %[2]s redirect to :%[4]d; }; }\n", name, ways, mac, listener.Addr().(*net.TCPAddr).Port)
	n.run("", "ip", "-n", n.space(-1), "address", "replace", "10.99.255.254/16", "dev", "br0")
	n.run(text, "ip", "netns", "exec", n.space(-1), "nft", "-f", "-")
	dial := func() (conn net.Conn, err error) {
		inside(t, n, -1, func() error { conn, err = net.DialTimeout("tcp4", target, time.Second); return err })
		return conn, err
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				answer(conn, dial)
			}()
		}
	}()
}

// readAhead is a TCP connection with buffered input.
type readAhead struct {
	*net.TCPConn
	r *bufio.Reader
}

func (c readAhead) Read(b []byte) (int, error) { return c.r.Read(b) }

// splits handles TLS, and forwards other data.
func splits(secure func(conn readAhead)) func(conn net.Conn, dial func() (net.Conn, error)) {
	return func(conn net.Conn, dial func() (net.Conn, error)) {
		r := bufio.NewReader(conn)
		if first, err := r.Peek(1); err != nil || first[0] == recordType {
			secure(readAhead{conn.(*net.TCPConn), r})
			return
		}
		back, err := dial()
		if err != nil {
			return
		}
		defer back.Close()
		forward(peeked{conn, r, ""}, back)
	}
}

// TestDevices: a device that answers in a host's place, drops or resets data or TLS, or terminates
// TLS is named. Another program on the host is not a device.
func TestDevices(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 4)
	n.lose(
		"ip saddr 10.99.0.1 ip daddr 10.99.0.2 tcp dport 10250 ip length > 60 drop", // data
		"ip saddr 10.99.0.1 ip daddr 10.99.0.3 tcp dport 10250 @th,256,8 22 drop",   // a TLS handshake, behind 32 bytes of TCP's header
	)
	n.device(t, 0, 2, 6443, splits(func(conn readAhead) { resetOnClose(conn.TCPConn) }))
	n.device(t, 0, 3, 10250, func(conn net.Conn, _ func() (net.Conn, error)) { _, _ = io.Copy(io.Discard, conn) })
	n.device(t, 1, 3, 10250, func(conn net.Conn, _ func() (net.Conn, error)) { _, _ = io.WriteString(conn, "blocked\r\n") })
	own, err := netprobe.NewToken().Identity()
	if err != nil {
		t.Fatal(err)
	}
	own.ClientAuth = tls.NoClientCert
	n.device(t, 1, 2, 10250, splits(func(conn readAhead) { _ = tls.Server(conn, own).Handshake() }))
	var other net.Listener
	inside(t, n, 0, func() (err error) { other, err = net.Listen("tcp4", "10.99.0.1:10250"); return err })
	defer other.Close()
	go func() {
		for {
			conn, err := other.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	m := n.matrix(n.plan())
	only(t, m, map[netprobe.Verdict]netprobe.State{
		{From: 0, To: 1, Kind: netprobe.TCP, Port: 10250}: netprobe.DataLost,
		{From: 0, To: 2, Kind: netprobe.TCP, Port: 10250}: netprobe.TLSCloses,
		{From: 0, To: 2, Kind: netprobe.TCP, Port: 6443}:  netprobe.TLSCloses,
		{From: 0, To: 3, Kind: netprobe.TCP, Port: 10250}: netprobe.Replaced,
		{From: 1, To: 3, Kind: netprobe.TCP, Port: 10250}: netprobe.Replaced,
		{From: 1, To: 2, Kind: netprobe.TCP, Port: 10250}: netprobe.Inspected,
	})
	for i := 1; i < 4; i++ {
		if got := result(t, m, i, 0, netprobe.TCP, 10250); got.Why != "another program answers" {
			t.Errorf("%+v", got)
		}
	}
	text := fmt.Sprint(m.Findings(netprobe.Needs{TCP: n.plan().TCP, VXLAN: 8472}))
	for _, want := range []string{
		"{fail ports network TCP 10250 (kubelet): a device between the hosts answers in the host's place, and no answer leaves the host [from h0 (10.99.0.1), h1 (10.99.0.2) to h3 (10.99.0.4)]",
		"{fail ports network TCP 10250 (kubelet): a device between the hosts lets the TCP handshake pass, and then drops data or closes the connection [from h0 (10.99.0.1) to h1 (10.99.0.2)]",
		"{fail ports network TCP 10250 (kubelet): plain data passes, but a device between the hosts drops or resets TLS [from h0 (10.99.0.1) to h2 (10.99.0.3)] exclude TCP to port 10250",
		"{fail ports network TCP 10250 (kubelet): a device between the hosts terminates TLS with its own certificate [from h1 (10.99.0.2) to h2 (10.99.0.3)]",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestClientHello: the ClientHello does not fit into one segment of Ethernet, 1,460 bytes, as those of
// Kubernetes with the key share X25519MLKEM768.
func TestClientHello(t *testing.T) {
	config, err := netprobe.NewToken().Identity()
	if err != nil {
		t.Fatal(err)
	}
	client, server := net.Pipe()
	go func() { _ = tls.Client(client, likeKubernetes(config)).Handshake() }()
	hello := make([]byte, 1<<14)
	n, err := server.Read(hello)
	server.Close()
	if err != nil || n <= 1460 || hello[0] != recordType {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestHostileExchange: a host with the token cannot make an agent read more than exchangeSize bytes,
// nor answer for another host or port, and its results are bounded.
func TestHostileExchange(t *testing.T) {
	plan := hostPlan{&netprobe.Plan{Token: netprobe.NewToken(), Hosts: []netprobe.Host{{Name: "a", Address: netip.MustParseAddr("127.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("127.0.0.2")}}}}
	for name, test := range map[string]struct {
		m        message
		answered int
	}{
		"correct":      {message{kind: netprobe.TLS, from: 1, to: 0, port: 1}, exchangeSize},
		"other host":   {message{kind: netprobe.TLS, from: 1, to: 1, port: 1}, 0},
		"other port":   {message{kind: netprobe.TLS, from: 1, to: 0, port: 2}, 0},
		"unknown host": {message{kind: netprobe.TLS, from: 7, to: 0, port: 1}, 0},
		"a reply":      {message{kind: netprobe.TLS, reply: true, from: 1, to: 0, port: 1}, 0},
	} {
		a := &agent{plan: plan, report: &record{Report: &netprobe.Report{}}}
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			conversation{a, server, 1}.serveExchange(server, test.m)
		}()
		got := make(chan int)
		go func() {
			n, _ := io.Copy(io.Discard, client)
			got <- int(n)
		}()
		sent, err := client.Write(make([]byte, 10*exchangeSize))
		if n := <-got; n != test.answered || sent > exchangeSize || err == nil {
			t.Errorf("%s: answered %d bytes, took %d, %v", name, n, sent, err)
		}
	}
	r := &record{Report: &netprobe.Report{}}
	for port := range 10 * maxObservations {
		r.saw(netprobe.Observation{From: 1, Kind: netprobe.TCP, Port: port, Layer: netprobe.AtSocket})
		r.sourced(netprobe.Source{Host: 1, Kind: netprobe.TCP, Port: port})
	}
	r.saw(netprobe.Observation{From: 0, Kind: netprobe.TCP, Port: 1, Layer: netprobe.AtSocket})
	if len(r.Observations) != maxObservations+1 || len(r.Sources) != netprobe.MaxSources {
		t.Errorf("%d observations, %d sources", len(r.Observations), len(r.Sources))
	}
}

// TestHostileStreams: the number of streams inside the VXLAN is limited.
func TestHostileStreams(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a := &agent{}
	defer a.wait.Wait()
	defer listener.Close()
	defer cancel()
	a.background(ctx, func(ctx context.Context) { (&overlay{a: a}).digest(ctx, listener) })
	var last net.Conn
	for i := range maxConversations + 1 {
		last, err = net.Dial("tcp4", listener.Addr().String())
		if i == maxConversations && errors.Is(err, syscall.ECONNRESET) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer last.Close()
	}
	_ = last.SetReadDeadline(time.Now().Add(stalled + time.Second)) // before the limit of an idle stream
	if _, err := last.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the agent keeps the stream: %v", err)
	}
}
