package netprobe

import (
	"encoding/json"
	"testing"
)

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
	// The headers are those of an ICMP error about a SYN.
	f.Add([]byte(`{"schema":2,"hosts":[{"name":"a\u001b[2J","address":"10.0.0.1"},{"name":"b","address":"10.0.0.2"}],"attempts":[{"to":1,"kind":"tcp","port":2380,"result":"no reply"}],` +
		`"packets":[{"peer":1,"kind":"tcp","port":2380,"layer":"request refused","time":"2026-01-02T03:04:05.000006Z",` +
		`"headers":"RQAAOAAAAABAAQAACgAACQoAAAEDDQAAAAAAAEUAACgAAAAAQAYAAAoAAAEKAAACAAknCgAAAAA="},` +
		`{"peer":-1,"kind":"tcp","layer":"request left","headers":"RQ=="}]}`))
	// The headers are those of a SYN.
	f.Add([]byte(`{"schema":2,"hosts":[{"name":"a","address":"10.0.0.1"},{"name":"b","address":"10.0.0.2"}],"attempts":[{"to":1,"kind":"tcp","port":1,"result":"answered"},` +
		`{"to":1,"kind":"tls","port":1,"result":"connected, then no reply"}],"vip":{"failures":{"no reply":3}},"packets":[` +
		`{"peer":1,"kind":"tls","port":1,"layer":"request left","headers":"RQAAKAAAAABABgAACgAAAQoAAAIAYxvSAAAAAAAAAABQAg=="},` +
		`{"peer":-2,"kind":"balanced","result":"no reply","layer":"request left","headers":"RQAAKAAAAABABgAACgAAAQoAAAIAYxvSAAAAAAAAAABQAg=="}]}`))
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
		for _, found := range m.Findings(Needs{VXLAN: 8472, TCP: []Port{{Number: etcdPeers}}}) {
			checkCapture(t, found.Capture)
			if ofNetwork := found.Severity != Notes && found.Owner.onNetwork(); ofNetwork && len(found.Capture) == 0 && found.NoCapture == "" {
				t.Errorf("neither packets nor a reason: %+v", found)
			}
		}
		checkCapture(t, m.capture(m.Verdicts))
		_, _ = m.Choose(Options{Ports: Ports(8472), Native: true})
	})
}
