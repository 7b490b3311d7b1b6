package netprobe

import (
	"encoding/json"
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
	plan := &Plan{Token: NewToken(), Hosts: []Host{{Name: "a", Address: netip.MustParseAddr("10.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("10.0.0.2")}}, VXLAN: []int{8472}}
	inner, err := ipPacket(plan.Hosts[1].Address, plan.Hosts[0].Address, 64, message{kind: IPIP, from: 1, to: 0, size: 88}.encode(plan.Token))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(inner)
	f.Add(inner[:30])
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ok := plan.classify(b); ok && (s.From < 0 || s.From >= len(plan.Hosts) || s.Layer != AtInterface) {
			t.Errorf("%+v", s)
		}
	})
}

// FuzzReports: any report gives an error, or a matrix of the hosts in the report.
func FuzzReports(f *testing.F) {
	f.Add(
		[]byte(
			`{"schema":2,"hosts":[{"name":"a","address":"10.0.0.1"},{"name":"b","address":"10.0.0.2"}],"attempts":[{"to":1,"kind":"tcp","port":1,"result":"answered"}],` +
				`"observations":[{"from":1,"kind":"ipip"}]}`,
		),
	)
	f.Add([]byte(`{"schema":2,"self":-1,"attempts":[{"to":9}]}`))
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
		_ = m.Findings(Needs{VXLAN: 8472})
		_, _ = m.Choose(Options{Ports: Ports(8472), Native: true})
	})
}
