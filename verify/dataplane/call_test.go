package dataplane

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"airgap.dev/airgap/internal/porttest"
)

// testCaller returns a caller with short limits.
func testCaller() caller {
	c := newCaller()
	c.limit, c.pause = 500*time.Millisecond, 10*time.Millisecond
	return c
}

// startPod starts the server of a node's pod at a loopback address.
func startPod(t *testing.T, node, address string) peer {
	t.Helper()
	self := Self{Node: node, Host: netip.MustParseAddrPort(address).Addr().String()}
	return listenAs(t, node, address, answer(self, func() error { return nil }))
}

func listenAs(t *testing.T, node, address string, handler http.Handler) peer {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}}
	server.Start()
	t.Cleanup(server.Close)
	return peer{node, netip.MustParseAddrPort(listener.Addr().String())}
}

// smallMTU forwards only the first 1400 bytes of each connection to another pod, like a network that
// drops larger packets.
func smallMTU(t *testing.T, to peer, address string) peer {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				out, err := new(net.Dialer).DialContext(t.Context(), "tcp4", to.address.String())
				if err != nil {
					return
				}
				context.AfterFunc(t.Context(), func() { _ = errors.Join(in.Close(), out.Close()) })
				go func() { _, _ = io.CopyN(out, in, 1400) }()
				_, _ = io.CopyN(in, out, 1400)
			}()
		}
	}()
	return peer{to.node, netip.MustParseAddrPort(listener.Addr().String())}
}

// nameServer answers each name with the address at or, while refusing is true, with NXDOMAIN.
func nameServer(t *testing.T, at netip.Addr) (refusing *atomic.Bool) {
	t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing = &atomic.Bool{}
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Header = dnsmessage.Header{ID: m.ID, Response: true}
			m.Additionals = nil
			if q := m.Questions[0]; refusing.Load() {
				m.RCode = dnsmessage.RCodeNameError
			} else if q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}, Body: &dnsmessage.AResource{A: at.As4()}}}
			}
			if reply, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	was := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp4", conn.LocalAddr().String())
	}}
	t.Cleanup(func() { net.DefaultResolver = was; _ = conn.Close() })
	return refusing
}

// TestTry: healthy targets have no failure, and each fault has its text.
func TestTry(t *testing.T) {
	port := porttest.Reserve(t)
	own := startPod(t, "cp1", net.JoinHostPort("127.1.0.1", port))
	refusing := nameServer(t, own.address.Addr())
	w1, w2 := startPod(t, "w1", net.JoinHostPort("127.1.0.2", port)), startPod(t, "w2", net.JoinHostPort("127.1.0.3", port))
	closed := peer{"w3", netip.MustParseAddrPort(net.JoinHostPort("127.1.0.4", port))}
	stranger := listenAs(t, "w1", "127.1.0.5:0", http.NotFoundHandler())
	garbling := listenAs(t, "w1", "127.1.0.6:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set(nodeHeader, "w1")
		w.Header().Set(hostHeader, "127.1.0.2")
		_, _ = w.Write(bytes.ToUpper(body))
	}))
	silent := listenAs(t, "w1", "127.1.0.7:0", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	service := reached{own.address, own.address.Port()}
	for _, test := range []struct {
		name    string
		peers   []peer
		service func(*reached)
		noNames bool
		host    peer // that answers at the own hostPort
		want    []Failure
	}{
		{name: "all answers", peers: []peer{w1, w2}},
		{name: "alone"},
		{name: "closed port", peers: []peer{w1, closed}, want: []Failure{{"pod on w3", "connection refused"}}},
		{name: "no answer", peers: []peer{silent}, want: []Failure{{"pod on w1", "no answer"}}},
		{name: "small MTU", peers: []peer{smallMTU(t, w1, "127.1.0.8:0")}, want: []Failure{{"pod on w1, 64 KiB", "no answer"}}},
		{name: "the pod of another node", peers: []peer{{"w1", w2.address}}, want: []Failure{{"pod on w1", "the pod on w2 answered"}}},
		{name: "another program", peers: []peer{stranger}, want: []Failure{{"pod on w1", "another program answered (404 Not Found)"}}},
		{name: "other bytes", peers: []peer{garbling}, want: []Failure{{"pod on w1", "the answer has other bytes than the request"}}},
		{name: "no names", noNames: true, want: []Failure{{"name kubernetes.default.svc", "no such name"}}},
		{
			name: "no Service", service: func(s *reached) { s.address = closed.address },
			want: []Failure{{"Service by its address 127.1.0.4", "connection refused"}},
		},
		{
			name: "no NodePort", peers: []peer{w1}, service: func(s *reached) { s.nodePort = 1 },
			want: []Failure{{"NodePort 1 of cp1", "connection refused"}, {"NodePort 1 of w1", "connection refused"}},
		},
		{name: "hostPort", peers: []peer{w1}, host: own},
		{name: "the node has no rules of hostPort", host: peer{"cp1", netip.AddrPortFrom(own.address.Addr(), 1)}, want: []Failure{{"hostPort 1 of cp1", "connection refused"}}},
		{name: "the rules of another pod", host: w2, want: []Failure{{"hostPort " + port + " of cp1", "the pod on w2 answered"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			refusing.Store(test.noNames)
			p := &prober{caller: testCaller(), options: Options{Self: Self{Node: "cp1", Host: "127.1.0.1"}}, peers: test.peers, service: service, tried: map[string][]Failure{}}
			if test.service != nil {
				test.service(&p.service)
			}
			if test.host.node != "" {
				p.options.Self.Host, p.options.Self.HostPort = test.host.address.Addr().String(), test.host.address.Port()
			}
			got := p.try(t.Context())
			slices.SortFunc(got, func(a, b Failure) int { return strings.Compare(a.Target, b.Target) })
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %v\nwant %v", got, test.want)
			}
		})
	}
}

// noAnswer accepts each request and never answers.
type noAnswer struct{}

func (noAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestLongRound: a round with many nodes that do not answer takes longer than stale. The pod stays
// ready, unless its last write of the condition failed.
func TestLongRound(t *testing.T) {
	for _, lastErr := range []error{nil, errors.New("write condition: no answer")} {
		synctest.Test(t, func(t *testing.T) {
			p := &prober{caller: newCaller(), tried: map[string][]Failure{}}
			p.client = &http.Client{Transport: noAnswer{}}
			for i := range 2 * perRound {
				node := "w" + strconv.Itoa(i)
				p.peers = append(p.peers, peer{node, netip.MustParseAddrPort("127.1.0.2:8080")})
				p.tried[node] = []Failure{{"pod on " + node, "no answer"}}
			}
			p.nodes.Store(int64(len(p.peers)))
			p.confirmed.last, p.confirmed.err = time.Now(), lastErr
			began, result := time.Now(), make(chan []Failure, 1)
			go func() { result <- p.try(t.Context()) }()
			var unready error
			for len(result) == 0 {
				time.Sleep(time.Second)
				unready = errors.Join(unready, p.ready())
			}
			if found := <-result; len(found) != len(p.peers) || time.Since(began) < stale {
				t.Fatalf("got %d failures in %s, want %d", len(found), time.Since(began), len(p.peers))
			}
			if (unready != nil) != (lastErr != nil) {
				t.Errorf("with last error %v: got ready error %v", lastErr, unready)
			}
		})
	}
}

// TestTurn: in a large cluster, each node is tried in turn, and failed nodes in each round.
func TestTurn(t *testing.T) {
	p := &prober{tried: map[string][]Failure{"w007": {{"pod on w007", "no answer"}}}}
	for i := range 100 {
		p.peers = append(p.peers, peer{node: "w" + strconv.Itoa(1000 + i)[1:]})
	}
	seen := map[string]int{}
	for range 4 {
		now := p.turn()
		if len(now) > perRound+1 {
			t.Errorf("got %d nodes in a round, want at most %d", len(now), perRound+1)
		}
		for _, other := range now {
			seen[other.node]++
		}
	}
	if len(seen) != 100 || seen["w007"] != 4 || seen["w050"] != 1 {
		t.Errorf("got %d of 100 nodes in four rounds, w007 %d times, w050 %d times", len(seen), seen["w007"], seen["w050"])
	}
}

// TestAnswer: a NodePort is open to every client, so invalid requests are refused.
func TestAnswer(t *testing.T) {
	failing := errors.New("the condition was last confirmed 2m0s ago")
	h := answer(Self{Node: "w1", Host: "10.0.0.1"}, func() error { return failing })
	for _, test := range []struct {
		method, path string
		size, want   int
		says         string
	}{
		{"POST", "/echo", large, 200, ""},
		{"POST", "/echo", large + 1, 413, "at most 65536 bytes"},
		{"GET", "/echo", 0, 405, ""},
		{"GET", "/ready", 0, 503, "2m0s ago"},
		{"GET", "/", 0, 404, ""},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), test.method, test.path, bytes.NewReader(make([]byte, test.size))))
		if w.Code != test.want || !strings.Contains(w.Body.String(), test.says) {
			t.Errorf("%s %s with %d bytes: got %d %q", test.method, test.path, test.size, w.Code, w.Body.String()[:min(80, w.Body.Len())])
		}
	}
}

// TestPlainText converts errors of the resolver, which keeps only their text, and of a write that the end of the
// call interrupts.
func TestPlainText(t *testing.T) {
	closed := &url.Error{Op: "Post", URL: "http://10.244.0.3:8080/echo", Err: &net.OpError{Op: "write", Net: "tcp", Err: net.ErrClosed}}
	if got := plainText(closed); got != noReply {
		t.Errorf("%v: got %q", closed, got)
	}
	for want, err := range map[string]error{
		"no such name":       &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true},
		"no answer":          &net.DNSError{Err: "i/o timeout", Name: "x", IsTimeout: true},
		"connection refused": &net.DNSError{Err: "read udp 10.244.0.3:51726->10.96.0.10:53: read: connection refused", Name: "x"},
		"server misbehaving": &net.DNSError{Err: "server misbehaving", Name: "x"},
	} {
		if got := plainText(err); got != want {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
	}
}

// TestPersist: one or two lost packets are no failure, three are a failure.
func TestPersist(t *testing.T) {
	for lost, failures := range []int{0, 0, 0, 1} {
		tried := 0
		got := testCaller().persist(t.Context(), "pod on w1", func(context.Context) error {
			if tried++; tried <= lost {
				return context.DeadlineExceeded
			}
			return nil
		})
		if len(got) != failures {
			t.Errorf("%d lost packets: got %v, want %d failures", lost, got, failures)
		}
	}
}

func TestMessage(t *testing.T) {
	var all []Failure
	for i := range 40 {
		all = append(all, Failure{"pod on w" + strconv.Itoa(i) + ", 64 KiB", "dial tcp 10.0.0.1:80: odd"})
	}
	if got := Parse(message(all[:30])); !slices.Equal(got, all[:30]) {
		t.Errorf("got %v", got)
	}
	if got := Parse(message(all)); !slices.Equal(got, all[:30]) {
		t.Errorf("got %d failures, the last is %v", len(got), got[len(got)-1])
	}
	if got := Parse(message(nil)); got != nil {
		t.Errorf("without failures: got %v, want nil", got)
	}
}
