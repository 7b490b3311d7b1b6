package netprobe

import (
	"bytes"
	"encoding/json"
	"net"
	"net/netip"
	"testing"
	"time"
)

// FuzzMessage: only data with a valid HMAC is a message, and encoding it again gives the same message.
func FuzzMessage(f *testing.F) {
	token := NewToken()
	f.Add(message{kind: IPIP, from: 1, to: 2, port: 8472, size: 1500, clock: time.Unix(1, 2)}.encode(token))
	f.Add([]byte("AGPR"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := token.decode(b)
		if err != nil {
			return
		}
		if back, err := token.decode(m.encode(token)); err != nil || back != m {
			t.Errorf("%+v comes back as %+v, %v", m, back, err)
		}
	})
}

// FuzzPackets: only packets of this measurement to this host are observations of a host of the plan.
func FuzzPackets(f *testing.F) {
	hosts := []Host{{Name: "a", Address: netip.MustParseAddr("10.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("10.0.0.2")}}
	plan := &Plan{Token: NewToken(), Hosts: hosts, VXLAN: []int{8472}, TCP: []Port{{9994, "a", All, All}}, UDP: []int{6081}}
	inner, err := ipPacket(plan.Hosts[1].Address, plan.Hosts[0].Address, 64, message{kind: IPIP, from: 1, to: 0, size: 88}.encode(plan.Token))
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
	train, err := ipPacket(plan.Hosts[1].Address, plan.Hosts[0].Address, 64, message{kind: Paced, from: 1, to: 0, size: maxTrain - 1}.encode(plan.Token))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(train)
	var counted arrivals
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ok := plan.classify(b); ok && (s.From < 0 || s.From >= len(plan.Hosts) || s.Layer != AtInterface) {
			t.Errorf("%+v", s)
		}
		for _, layer := range []Layer{AnswerArrived, AnswerLeft} {
			if s, ok := plan.answer(b, layer); ok && (s.From != 1 || s.Kind == TCP && s.Port != 9994 || s.Port > 0xffff) {
				t.Errorf("%+v", s)
			}
		}
		for _, read := range []func([]byte) (Source, bool){plan.otherSource, plan.sourceLeft} {
			if s, ok := read(b); ok && (s.Host < 0 || s.Host >= len(plan.Hosts) || !s.Address.Is4()) {
				t.Errorf("%+v", s)
			}
		}
		if m, ok := plan.numbered(b); ok {
			counted.add(m)
		}
	})
}

// FuzzSession: whatever follows the first message, an agent answers at most as often as it is asked.
func FuzzSession(f *testing.F) {
	plan := &Plan{Token: NewToken(), Hosts: make([]Host, 2)}
	var counted arrivals
	counted.captures.Store(true)
	first := message{kind: Session, from: 1}
	f.Add(append(first.encode(plan.Token), message{kind: Burst, from: 1, size: 65535}.encode(plan.Token)...))
	f.Add(message{kind: TCP, from: 1}.encode(plan.Token))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, kind := range []Kind{Session, Bulk} {
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

// FuzzReports: any report gives an error, or a matrix of the hosts in the report.
func FuzzReports(f *testing.F) {
	f.Add(
		[]byte(
			`{"schema":2,"hosts":[{"name":"a","address":"10.0.0.1"},{"name":"b","address":"10.0.0.2"}],"attempts":[{"to":1,"kind":"tcp","port":1,"result":"answered"}],` +
				`"observations":[{"from":1,"kind":"ipip"}],"closed":[{"from":-9,"kind":"tcp","port":1,"rule":"\u0007"}]}`,
		),
	)
	f.Add(
		[]byte(
			`{"schema":2,"hosts":[{"name":"a","address":"10.0.0.1"},{"name":"b","address":"10.0.0.2"}],"paths":[{"to":1,"tcp":{"tried":16,"lost":[1]},` +
				`"trains":[{"sent":9},{"sent":9}],"bursts":[{"sent":9,"arrived":1},{"sent":9,"arrived":1}],"latency":{"median":9},"streams":[{"stalled":true},{"stalled":true}]}]}`,
		),
	)
	f.Add([]byte(`{"schema":2,"self":-1,"attempts":[{"to":9}]}`))
	f.Add(
		[]byte(
			`{"schema":2,"hosts":[{"name":"a","address":"10.0.0.1"},{"name":"b","address":"10.0.0.2"}],"sources":[{"host":-5,"kind":"tcp","address":"10.0.0.9"}],` +
				`"attempts":[{"to":1,"kind":"tcp","port":1,"result":"connected, then no reply"},{"to":1,"kind":"tls","port":1,"source":"10.0.0.7","bytes":-1}]}`,
		),
	)
	f.Add([]byte(`{"schema":2,"hosts":[{"name":"a","controlPlane":true},{"name":"b","controlPlane":true}],"vip":{"hits":{"9":-1},"small":{"-1":3},"failures":{"no reply to TLS":2},` +
		`"transfers":[{"to":9,"tried":2,"failed":2},{"to":1,"tried":2,"failed":2}],"idle":{"to":-7},"local":{"address":"10.0.0.9","direct":true},"mac":"x","owners":["x"],"ipv6":["::1"]},` +
		`"behind":{"checks":{"10.0.0.9":2},"proxy":{"v1":1},"stalled":[{"from":-1}],"idle":[{"from":9}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Report
		if json.Unmarshal(b, &r) != nil {
			return
		}
		m, err := Judge([]*Report{&r})
		if err != nil {
			return
		}
		for _, v := range m.Verdicts {
			if v.From >= len(m.Hosts) || v.To >= len(m.Hosts) {
				t.Errorf("%+v", v)
			}
		}
		for _, r := range m.Rewritten {
			if r.From >= len(m.Hosts) || r.To >= len(m.Hosts) {
				t.Errorf("%+v", r)
			}
		}
		for _, p := range m.Paths {
			if p.From >= len(m.Hosts) || p.To >= len(m.Hosts) {
				t.Errorf("%+v", p)
			}
		}
		_ = m.Findings(Needs{VXLAN: 8472, TCP: []Port{{Number: etcdPeers}}})
		_, _ = m.Choose(Options{Ports: Ports(8472), Native: true})
	})
}
