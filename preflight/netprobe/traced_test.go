package netprobe

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tcpHeaders are the headers of a packet with data between the two hosts of pairOf.
func tcpHeaders(from, to uint16, flags byte, data int) []byte {
	b := make([]byte, 40)
	b[0], b[8], b[9], b[32], b[33] = 0x45, 64, protoTCP, 0x50, flags
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)+data))
	copy(b[12:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
	binary.BigEndian.PutUint16(b[20:], from)
	binary.BigEndian.PutUint16(b[22:], to)
	return b
}

// TestTraced: a failed connection of two with the same port has its own packets of both hosts, and says what
// did not arrive.
func TestTraced(t *testing.T) {
	hosts := []Host{{Name: "a", Address: netip.MustParseAddr("10.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("10.0.0.2")}}
	at := func(peer int, layer Layer, second int, headers []byte) Packet {
		return Packet{Peer: peer, Kind: TLS, Port: 6443, Layer: layer, Time: time.Unix(int64(second), 0), Headers: headers}
	}
	here := &Report{Hosts: hosts, Packets: []Packet{
		at(1, RequestLeft, 1, tcpHeaders(4001, 6443, 2, 0)), at(1, AnswerArrived, 2, tcpHeaders(6443, 4001, 0x12, 0)), at(1, RequestLeft, 3, tcpHeaders(4001, 6443, 0x18, 1448)),
		at(1, RequestLeft, 7, tcpHeaders(4002, 6443, 2, 0)),
	}}
	there := &Report{Self: 1, Hosts: hosts, Packets: []Packet{at(0, AtInterface, 1, tcpHeaders(4001, 6443, 2, 0)), at(0, AnswerLeft, 2, tcpHeaders(6443, 4001, 0x12, 0))}}
	m := &Matrix{Hosts: hosts, reports: []*Report{here, there}}
	assert.Equal(t, []string{
		"a 00:00:01.000000 out 10.0.0.1.4001 > 10.0.0.2.6443: TCP SYN, ttl 64",
		"a 00:00:02.000000 in 10.0.0.1.6443 > 10.0.0.2.4001: TCP SYN+ACK, ttl 64",
		"a 00:00:03.000000 out 10.0.0.1.4001 > 10.0.0.2.6443: TCP ACK, length 1448, ttl 64",
		"a: no data arrived at its interface",
		"b 00:00:01.000000 in 10.0.0.1.4001 > 10.0.0.2.6443: TCP SYN, ttl 64",
		"b 00:00:02.000000 out 10.0.0.1.6443 > 10.0.0.2.4001: TCP SYN+ACK, ttl 64",
		"b: no data arrived at its interface",
	}, evidence{m}.traced(0, 1, TLS, 6443))
	there.Packets = nil
	text := strings.Join(evidence{m}.traced(0, 1, TLS, 0), "\n")
	assert.Contains(t, text, "b: no such packet arrived at its interface")
	there.ListenErrors = []ListenError{{Layer: AtInterface}}
	assert.Contains(t, strings.Join(evidence{m}.traced(0, 1, TLS, 0), "\n"), "b: it did not capture packets")
	m.reports[1] = nil
	assert.Len(t, evidence{m}.traced(0, 1, TLS, 0), 4)
	for _, pair := range [][2]int{{0, 9}, {9, 0}, {-1, 0}, {0, -1}, {1, 0}} {
		assert.Empty(t, evidence{m}.traced(pair[0], pair[1], TLS, 0))
	}
	assert.Empty(t, evidence{m}.traced(0, 1, TLS, 1))
}

// TestWithoutPackets: each finding for the teams of the network has packets or a reason, also if no host
// reports packets.
func TestWithoutPackets(t *testing.T) {
	m := pairOf(Verdict{Kind: TCP, Port: 6443, State: Inspected})
	m.Verdicts[0].To = 1
	m.Paths = []Path{{From: 0, To: 1, TCP: &Flows{Tried: 16, Lost: []int{1}}, Trains: []Train{{Sent: 9}, {Sent: 9}}, Latency: &Latency{Median: time.Second}}}
	m.VIPs = map[int]*VIP{0: {Failures: map[Result]int{NoHandshake: 3}}, 1: {Hits: map[int]int{0: 9}}}
	m.Behind = map[int]*Behind{0: {Proxy: map[string]int{"v1": 1}}}
	found := m.Findings(Needs{TCP: []Port{{Number: 6443}, {Number: etcdPeers}}})
	count := 0
	for _, f := range found {
		if f.Owner.onNetwork() {
			count++
			assert.True(t, strings.HasPrefix(f.NoCapture, "no packets: "), "%+v", f)
		}
	}
	require.GreaterOrEqual(t, count, 4)
	m.ListenErrors = []HostListenError{{1, ListenError{Layer: AtInterface}}}
	assert.Contains(t, m.Findings(Needs{TCP: []Port{{Number: 6443}}})[0].NoCapture, "measure as root")
}

// TestFailedAt: a host gets the connections to it only, and a hostile host cannot name those of others.
func TestFailedAt(t *testing.T) {
	many := make([]Failed, 10*MaxFailed)
	for i := range many {
		many[i] = Failed{From: 1, To: 0, Source: i}
	}
	all := map[int][]Failed{0: {{From: 0, To: 1, Port: 7}, {From: 0, To: 2}}, 1: many, 2: {{From: 0, To: 1}, {From: 9, To: -1}}}
	assert.Equal(t, []Failed{{From: 0, To: 1, Port: 7}}, failedAt(all, 1))
	assert.Len(t, failedAt(all, 0), MaxFailed)
	assert.Equal(t, []Failed{{From: 0, To: 2}}, failedAt(all, 2))
}
