package agent

import (
	"bytes"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

// FuzzMessage: only data with a valid HMAC is a message, and encoding it again gives the same message.
func FuzzMessage(f *testing.F) {
	token := netprobe.NewToken()
	f.Add(message{kind: netprobe.IPIP, from: 1, to: 2, port: 8472, size: 1500, clock: time.Unix(1, 2)}.encode(token))
	f.Add([]byte("AGPR"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decode(token, b)
		if err != nil {
			return
		}
		if back, err := decode(token, m.encode(token)); err != nil || back != m {
			t.Errorf("%+v comes back as %+v, %v", m, back, err)
		}
	})
}

// FuzzPackets: only packets of this measurement to this host are observations of a host of the plan.
func FuzzPackets(f *testing.F) {
	hosts := []netprobe.Host{{Name: "a", Address: netip.MustParseAddr("10.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("10.0.0.2")}}
	plan := hostPlan{&netprobe.Plan{Token: netprobe.NewToken(), Hosts: hosts, VXLAN: []int{8472}, TCP: []netprobe.Port{{Number: 9994, For: "a", To: netprobe.All, From: netprobe.All}}, UDP: []int{6081}}}
	inner, err := ipPacket(plan.Hosts[1].Address, plan.Hosts[0].Address, 64, message{kind: netprobe.IPIP, from: 1, to: 0, size: 88}.encode(plan.Token))
	if err != nil {
		f.Fatal(err)
	}
	for _, payload := range [][]byte{ // SYN, SYN+ACK and RST
		{0, 9, 0x27, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, flagSYN},
		{0x27, 0x0a, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, flagsSYNACK},
		{0x27, 0x0a, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, flagRST},
	} {
		f.Add(append(append(append([]byte{0x45, 0, 0, 40, 0, 0, 0, 0, 64, protoTCP, 0, 0}, 10, 0, 0, 2), 10, 0, 0, 1), payload...))
	}
	f.Add(inner)
	f.Add(inner[:30])
	train, err := ipPacket(plan.Hosts[1].Address, plan.Hosts[0].Address, 64, message{kind: netprobe.Paced, from: 1, to: 0, size: maxTrain - 1}.encode(plan.Token))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(train)
	// An ICMP error of a router about a SYN.
	f.Add(slices.Concat([]byte{0x45, 0, 0, 56, 0, 0, 0, 0, 64, protoICMP, 0, 0, 10, 0, 0, 9, 10, 0, 0, 1, unreachable, 13, 0, 0, 0, 0, 0, 0},
		[]byte{0x45, 0, 0, 40, 0, 0, 0, 0, 64, protoTCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 9, 0x27, 0x0a, 0, 0, 0, 0}))
	var counted arrivals
	var captured capture
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ok := plan.classify(b); ok && (s.From < 0 || s.From >= len(plan.Hosts) || s.Layer != netprobe.AtInterface) {
			t.Errorf("%+v", s)
		}
		for _, layer := range []netprobe.Layer{netprobe.AnswerArrived, netprobe.AnswerLeft} {
			if s, ok := plan.answer(b, layer); ok && (s.From != 1 || s.Kind == netprobe.TCP && s.Port != 9994 || s.Port > 0xffff) {
				t.Errorf("%+v", s)
			}
		}
		for _, read := range []func([]byte) (netprobe.Source, bool){plan.otherSource, plan.sourceLeft} {
			if s, ok := read(b); ok && (s.Host < 0 || s.Host >= len(plan.Hosts) || !s.Address.Is4()) {
				t.Errorf("%+v", s)
			}
		}
		if m, ok := plan.numbered(b); ok {
			counted.add(m)
		}
		if s, ok := plan.icmpError(b); ok && (s.From != 1 || s.Port > 0xffff) {
			t.Errorf("%+v", s)
		}
		captured.keep(netprobe.Observation{From: 1, Kind: netprobe.VXLANPing, Layer: netprobe.AtInterface}, b, time.Time{})
		if h := headers(b); len(h) > netprobe.MaxHeaders || len(h) > len(b) {
			t.Errorf("%d bytes of headers", len(h))
		}
	})
}

// FuzzSession: whatever follows the first message, an agent answers at most as often as it is asked.
func FuzzSession(f *testing.F) {
	plan := hostPlan{&netprobe.Plan{Token: netprobe.NewToken(), Hosts: make([]netprobe.Host, 2)}}
	var counted arrivals
	counted.captures.Store(true)
	first := message{kind: netprobe.Session, from: 1}
	f.Add(append(first.encode(plan.Token), message{kind: netprobe.Burst, from: 1, size: 65535}.encode(plan.Token)...))
	f.Add(message{kind: netprobe.TCP, from: 1}.encode(plan.Token))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, kind := range []netprobe.Kind{netprobe.Session, netprobe.Bulk} {
			conn := &countingConn{}
			responder{plan, &counted, conn, bytes.NewReader(b)}.answer(message{kind: kind, from: 1})
			if asked := 1 + len(b)/messageSize; conn.written > asked*(messageSize+tallySize+macSize) {
				t.Errorf("%d bytes for %d messages", conn.written, asked)
			}
		}
	})
}

// countingConn counts the written bytes.
type countingConn struct {
	net.Conn
	written int
}

func (c *countingConn) Write(b []byte) (int, error) { c.written += len(b); return len(b), nil }

func (c *countingConn) SetDeadline(time.Time) error { return nil }
