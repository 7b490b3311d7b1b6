package nameservers

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"airgap.dev/airgap/preflight/facts"
)

// server is a name server of a test, on its own loopback address.
type server struct {
	at       string
	noUDP    bool
	noTCP    bool
	silent   bool // it reads questions and sends no answer
	refuses  bool
	loses    int // questions by UDP before the first answer
	wildcard string
	names    map[string]string
}

// start returns the port, which all servers of a test share.
func start(t *testing.T, port uint16, s *server) uint16 {
	t.Helper()
	listener, err := net.Listen("tcp4", netip.AddrPortFrom(netip.MustParseAddr(s.at), port).String())
	require.NoError(t, err)
	bound := netip.MustParseAddrPort(listener.Addr().String())
	if s.noTCP {
		listener.Close()
	} else {
		t.Cleanup(func() { listener.Close() })
		go s.serveTCP(listener)
	}
	if s.noUDP {
		return bound.Port()
	}
	conn, err := net.ListenPacket("udp4", bound.String())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if s.loses > 0 {
				s.loses--
				continue
			}
			if b := s.answer(buf[:n]); b != nil {
				_, _ = conn.WriteTo(forged(b), from) // not an answer to a question
				_, _ = conn.WriteTo(b, from)
			}
		}
	}()
	return bound.Port()
}

// forged is an answer with another number, from a program that guesses.
func forged(b []byte) []byte {
	other := append([]byte{}, b...)
	binary.BigEndian.PutUint16(other, binary.BigEndian.Uint16(b)+1000)
	return other
}

func (s *server) serveTCP(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			for {
				var length [2]byte
				if _, err := io.ReadFull(conn, length[:]); err != nil {
					return
				}
				b := make([]byte, binary.BigEndian.Uint16(length[:]))
				if _, err := io.ReadFull(conn, b); err != nil {
					return
				}
				if b = s.answer(b); b != nil {
					_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...))
				}
			}
		}()
	}
}

func (s *server) answer(b []byte) []byte {
	var m dnsmessage.Message
	if s.silent || m.Unpack(b) != nil {
		return nil
	}
	m.Header = dnsmessage.Header{ID: m.ID, Response: true}
	name := strings.TrimSuffix(m.Questions[0].Name.String(), ".")
	address, known := s.names[name]
	if !known && s.wildcard != "" && strings.HasSuffix(name, s.wildcard) {
		address, known = "10.9.9.9", true
	}
	switch {
	case s.refuses:
		m.RCode = dnsmessage.RCodeRefused
	case !known:
		m.RCode = dnsmessage.RCodeNameError
	case m.Questions[0].Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET}, Body: &dnsmessage.AResource{A: netip.MustParseAddr(address).As4()}}}
	}
	b, _ = m.Pack()
	return b
}

// TestAsk: each fault is found at its server, and lost packets are no fault.
func TestAsk(t *testing.T) {
	known := map[string]string{"k8s.bank.example": "10.0.0.5"}
	servers := []*server{
		{at: "127.0.0.21", names: known, wildcard: ".apps.example"},
		{at: "127.0.0.22", noTCP: true, names: known, wildcard: ".bank.example"},
		{at: "127.0.0.23", noUDP: true, noTCP: true},
		{at: "127.0.0.24", refuses: true},
		{at: "127.0.0.25", loses: 4},
		{at: "127.0.0.26", silent: true},
	}
	q := Query{Search: []string{"bank.example", "apps.example."}, Names: []string{"k8s.bank.example", "10.0.0.9", "k8s.bank.example", ""}}
	port := uint16(0)
	for _, s := range servers {
		port = start(t, port, s)
		q.Servers = append(q.Servers, s.at)
	}
	got := ask(t.Context(), q, port)
	require.Len(t, got.Servers, len(servers))
	assert.True(t, got.Outcome.Done)
	one := []netip.Addr{netip.MustParseAddr("10.0.0.5")}
	for i, want := range []struct {
		udp, tcp string
		refuses  bool
		address  []netip.Addr
		known    bool
	}{
		{"", "", false, one, true},
		{"", "connection refused", false, one, true},
		{"connection refused", "connection refused", false, nil, false},
		{"", "", true, nil, false},
		{"", "", false, nil, true},
		{noAnswer, noAnswer, false, nil, false},
	} {
		s := got.Servers[i]
		assert.Equal(t, []any{want.udp, want.tcp, want.refuses}, []any{s.UDP, s.TCP, s.Refuses}, s.Address)
		address, answered := s.Names["k8s.bank.example"]
		assert.Equal(t, want.known, answered, s.Address)
		assert.Equal(t, want.address, address, s.Address)
		assert.LessOrEqual(t, len(s.Names), 1)
	}
	address := netip.MustParseAddr("10.9.9.9")
	assert.Equal(t, []facts.Wildcard{
		{Domain: "apps.example.", Server: "127.0.0.21", Address: address},
		{Domain: "bank.example", Server: "127.0.0.22", Address: address}, // not only the first server that answers
	}, got.Wildcards)
}

// TestShortNames: the resolver looks up a name without a dot in the search domains.
func TestShortNames(t *testing.T) {
	port := start(t, 0, &server{at: "127.0.0.27", names: map[string]string{"ntp.b.example": "10.0.0.123"}})
	got := ask(t.Context(), Query{Servers: []string{"127.0.0.27", "no address"}, Search: []string{"a.example", "b.example"}, Names: []string{"ntp"}}, port)
	require.Len(t, got.Servers, 1)
	assert.Equal(t, []netip.Addr{netip.MustParseAddr("10.0.0.123")}, got.Servers[0].Names["ntp"])
	assert.Empty(t, got.Wildcards)
}

// FuzzAnswer: a hostile server cannot make the parser panic, or give it an answer to no question.
func FuzzAnswer(f *testing.F) {
	questions := []dnsmessage.Question{{Name: dnsmessage.MustNewName("a.example."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}
	b, err := query(7, questions[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add((&server{names: map[string]string{"a.example": "10.0.0.1"}}).answer(b))
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		number, a, ok := parse(b, 7, questions)
		if ok && (number != 0 || len(a.addresses) > maxAddresses) {
			t.Errorf("%d, %+v", number, a)
		}
	})
}
