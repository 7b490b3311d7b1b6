package netprobe

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestElectionAdvice: the advice follows etcd's tuning guide.
func TestElectionAdvice(t *testing.T) {
	m := pairOf(Verdict{Kind: TCP, Port: 2380, State: Open})
	m.Hosts[0].ControlPlane, m.Hosts[1].ControlPlane = true, true
	m.Paths = []Path{{From: 0, To: 1, Latency: &Latency{Median: 143 * time.Millisecond}}}
	found := pathFindings{m}.latency(Needs{TCP: []Port{{2380, "etcd peers", ControlPlanes, ControlPlanes}}})
	if len(found) != 1 || !strings.Contains(found[0].Fix, "heartbeatInterval: 150ms and electionTimeout: 1500ms") {
		t.Errorf("%+v", found)
	}
}

// TestForeignPaths: numbers that no agent writes are ignored.
func TestForeignPaths(t *testing.T) {
	hosts := []Host{{Name: "a"}, {Name: "b"}}
	many := make([]Train, maxRuns+1)
	for name, paths := range map[string][]Path{
		"no such host": {{To: 2}, {To: -1}}, "itself": {{To: 0}}, "many runs": {{To: 1, Trains: many}}, "many flows": {{To: 1, TCP: &Flows{Tried: 1 << 30}}},
		"more lost than tried": {{To: 1, UDP: &Flows{Tried: 1, Lost: []int{1, 2}}}},
	} {
		m, err := Judge([]*Report{{Schema: Schema, Hosts: hosts, Paths: paths}})
		if err != nil || len(m.Paths) > 0 {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	m, err := Judge([]*Report{{Schema: Schema, Hosts: hosts, Paths: []Path{{From: 7, To: 1}, {To: 1}}}})
	if err != nil || len(m.Paths) != 1 || m.Paths[0].From != 0 {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestPolicedSizes: a limit of the rate drops large packets by chance, which is no narrow path.
func TestPolicedSizes(t *testing.T) {
	m := pairOf(Verdict{Kind: Size, State: Narrow, Size: 1480, MTU: 1500})
	m.Verdicts = m.Verdicts[:1]
	burst := Train{Size: 1280, Sent: 480, Arrived: 59, Offered: 18_500_000, Carried: 1_000_000}
	m.Paths = []Path{{From: 0, To: 1, Bursts: []Train{burst, burst}}}
	m.markPartial()
	if v := m.Verdicts[0]; v.State != Partial || v.Size != 0 || m.pathOn(0) != 0 {
		t.Errorf("%+v", v)
	}
	if found := m.Findings(Needs{VXLAN: 8472, MTU: 1500}); len(found) != 1 || found[0].About != AboutPaths {
		t.Errorf("%+v", found)
	}
}

// TestPartialKeepsRules: a path that loses some flows hides no packet filter of the other host.
func TestPartialKeepsRules(t *testing.T) {
	m := pairOf(Verdict{Kind: TCP, Port: 2380, State: HostCloses})
	m.Verdicts[0].Rule = "tcp dport 2380 drop"
	for from := range 2 {
		m.Paths = append(m.Paths, Path{From: from, To: 1 - from, TCP: &Flows{Tried: 16, Lost: []int{40001}}})
	}
	m.markPartial()
	if m.Verdicts[0].State != HostCloses || m.Verdicts[1].State != Partial {
		t.Errorf("%+v", m.Verdicts)
	}
}

// TestPathsInKorean: each text of a finding about a path has its Korean, with the same values.
func TestPathsInKorean(t *testing.T) {
	ms := time.Millisecond
	bad := Path{
		From: 0, To: 1, TCP: &Flows{Port: 10250, Tried: 16, Lost: []int{40001}}, Trains: []Train{{Sent: 100, Arrived: 97}, {Sent: 100, Arrived: 97}},
		Bursts:  []Train{{Sent: 100, Arrived: 50, Reordered: 10, Offered: 20e6, Carried: 1e6}, {Sent: 100, Arrived: 50, Reordered: 10, Offered: 20e6, Carried: 1e6}},
		Latency: &Latency{Median: 20 * ms, P99: 30 * ms}, Streams: []Stream{{Sent: 300000, Stalled: true}, {Sent: 300000, Stalled: true}},
	}
	back := Path{From: 1, To: 0, Latency: &Latency{Median: 200 * ms}, Streams: []Stream{{Sent: 1e6, Took: 10 * time.Second}, {Sent: 1e6, Took: 10 * time.Second}}}
	m := pairOf(Verdict{Kind: TCP, Port: 2380, State: Open})
	m.Verdicts = append(m.Verdicts, Verdict{From: 1, To: 0, Kind: Size, State: Narrow, Size: 1400, MTU: 1500})
	m.Hosts[0].ControlPlane, m.Hosts[1].ControlPlane = true, true
	for _, paths := range [][]Path{{bad, back}, {{From: 1, To: 0, Streams: bad.Streams}},
		{{From: 0, To: 1, Latency: &Latency{P99: 60 * ms}, Again: &Latency{P99: 60 * ms}}, {From: 1, To: 0, Latency: &Latency{P99: 400 * ms}, Again: &Latency{P99: 400 * ms}}}} {
		m.Paths, m.in = paths, Korean
		for _, f := range m.Findings(Needs{TCP: []Port{{2380, "etcd peers", ControlPlanes, ControlPlanes}}, VXLAN: 8472}) {
			text := strings.Join(append(f.Between, f.What, f.Fix), "\n")
			if strings.Contains(text, "%!") || english.MatchString(text) {
				t.Errorf("%s", text)
			}
		}
	}
}

var english = regexp.MustCompile(`[a-z']{3,},? [a-z']{3,} [a-z']{3,}`)

// TestPathNumbers: numbers give a finding only where they repeat, and are outside of the limits.
func TestPathNumbers(t *testing.T) {
	ms := time.Millisecond
	etcd := Needs{TCP: []Port{{Number: 2380, For: "etcd peers", To: ControlPlanes, From: ControlPlanes}}, VXLAN: 8472}
	trip := func(d time.Duration) *Latency {
		return &Latency{Samples: 20, Median: d, P99: d, Handshake: d}
	}
	train := func(arrived int) Train { return Train{Sent: 1000, Arrived: arrived} }
	burst := func(arrived, reordered int) Train {
		return Train{Sent: 1000, Arrived: arrived, Reordered: reordered, Offered: 20e6, Carried: arrived * 20e3}
	}
	stream := func(rate float64) Stream {
		return Stream{Sent: 1e6, Took: time.Duration(8e15 / rate)}
	}
	slowHost := trip(200 * ms)
	slowHost.Handshake = ms
	unsteady := func(median, first, second time.Duration) Path {
		return Path{Latency: &Latency{Samples: 20, Median: median, P99: first}, Again: &Latency{Samples: 100, Median: median, P99: second, Jitter: 7 * ms}}
	}
	clean := Path{
		TCP: &Flows{Tried: 16}, UDP: &Flows{Tried: 16}, Trains: []Train{train(1000)}, Bursts: []Train{burst(1000, 0)},
		Latency: trip(ms), Streams: []Stream{stream(1e9)},
	}
	for name, test := range map[string]struct {
		path  Path
		needs Needs
		want  string
	}{
		"clean":                {clean, etcd, ""},
		"all flows":            {Path{TCP: &Flows{Tried: 2, Lost: []int{1, 2}}}, etcd, ""},
		"one flow":             {Path{TCP: &Flows{Port: 10250, Tried: 16, Lost: []int{40001}}}, etcd, "1 of 16 TCP flows to port 10250 are lost (source ports 40001)"},
		"loss, once":           {Path{Trains: []Train{train(990), train(1000)}}, etcd, ""},
		"loss, only the 2nd":   {Path{Trains: []Train{train(1000), train(900)}}, etcd, ""},
		"little loss":          {Path{Trains: []Train{train(999), train(998)}}, etcd, ""},
		"loss of the sum":      {Path{Trains: []Train{train(1000), train(998), train(999), train(994)}}, etcd, "9 of 3000 packets (0.3 %)"},
		"loss, then none":      {Path{Trains: []Train{train(990), train(990), train(1000)}}, etcd, ""},
		"loss":                 {Path{Trains: []Train{train(999), train(995)}}, etcd, "5 of 1000 packets (0.5 %)"},
		"the host drops":       {Path{Trains: []Train{train(999), {Sent: 1000, Arrived: 900, Overrun: 98}}}, etcd, ""},
		"much loss":            {Path{Trains: []Train{train(900), train(900)}}, etcd, "fail network packets are lost on the way"},
		"handshakes are lost":  {Path{TCP: &Flows{Tried: 16, Lost: []int{1}}, UDP: &Flows{Tried: 16}, Trains: []Train{train(700), train(700)}}, etcd, "300 of 1000 packets (30.0 %)"},
		"policed":              {Path{Bursts: []Train{burst(500, 0), burst(300, 0)}}, etcd, "fail network the network limits the rate of UDP: from a (10.0.0.1) to b (10.0.0.2): 6.0 of 20.0 Mbit/s arrive"},
		"policed, no tunnel":   {Path{Bursts: []Train{burst(500, 0), burst(300, 0)}}, Needs{}, "warn network the network limits"},
		"policed, once":        {Path{Bursts: []Train{burst(500, 0), burst(1000, 0)}}, etcd, ""},
		"bursts are too large": {Path{Bursts: []Train{burst(0, 0), burst(0, 0)}}, etcd, ""},
		"reordered":            {Path{Bursts: []Train{burst(1000, 400), burst(1000, 60)}}, etcd, "6 % of the packets of one flow"},
		"reordered, once":      {Path{Bursts: []Train{burst(1000, 400), burst(1000, 4)}}, etcd, ""},
		"slow":                 {Path{Streams: []Stream{stream(1e6), stream(3e6)}}, etcd, "warn network a TCP stream is slower than 10 Mbit/s: from a (10.0.0.1) to b (10.0.0.2): 3.0 Mbit/s"},
		"slow for TCP, too":    {Path{Bursts: []Train{burst(500, 0), burst(100, 0)}, Streams: []Stream{stream(1e6), stream(8e6)}}, etcd, "warn network a TCP stream is slower"},
		"slow for UDP only":    {Path{Bursts: []Train{burst(500, 0), burst(50, 0)}, Streams: []Stream{stream(1e6), stream(9e6)}}, etcd, "fail network the network limits the rate of UDP"},
		"slow by the order":    {Path{Bursts: []Train{burst(1000, 400), burst(1000, 60)}, Streams: []Stream{stream(1e6), stream(3e6)}}, etcd, "6 % of the packets of one flow"},
		"slow by the distance": {Path{Latency: trip(90 * ms), Streams: []Stream{{Sent: 3e5, Took: 800 * ms}, {Sent: 3e5, Took: 900 * ms}}}, Needs{}, ""},
		"far and slow":         {Path{Latency: trip(90 * ms), Streams: []Stream{{Sent: 3e5, Took: 2 * time.Second}, {Sent: 3e5, Took: 2 * time.Second}}}, Needs{}, "1.2 Mbit/s"},
		"slow, once":           {Path{Streams: []Stream{stream(1e6), stream(2e7)}}, etcd, ""},
		"stalls":               {Path{Streams: []Stream{{Sent: 9, Stalled: true}, {Port: 5000, Sent: 300000, Stalled: true}}}, etcd, "0 of 300000 bytes arrive at TCP port 5000"},
		"stalls, once":         {Path{Streams: []Stream{{Sent: 9, Stalled: true}, stream(1e9)}}, etcd, ""},
		"far":                  {Path{Latency: trip(11 * ms)}, etcd, "warn network the round trip between members of etcd is longer than 10.0 ms"},
		"too far":              {Path{Latency: trip(101 * ms)}, etcd, "longer than a tenth of its election timeout (100.0 ms)"},
		"far, and configured":  {Path{Latency: trip(101 * ms)}, Needs{TCP: etcd.TCP, Election: 2 * time.Second}, "warn network the round trip"},
		"far, without etcd":    {Path{Latency: trip(101 * ms)}, Needs{}, ""},
		"a busy host":          {Path{Latency: slowHost}, etcd, ""},
		"unsteady":             {unsteady(ms, 400*ms, 390*ms), etcd, "fail network single round trips between members of etcd are longer than a tenth of its election timeout (100.0 ms)"},
		"unsteady, the values": {unsteady(ms, 400*ms, 390*ms), etcd, "b (10.0.0.2): 99th percentile 390.0 ms, in two measurements of 20 and 100 samples; median 1.0 ms, jitter 7.0 ms"},
		"unsteady, once":       {unsteady(ms, 400*ms, 3*ms), etcd, ""},
		"not confirmed":        {Path{Latency: &Latency{Median: ms, P99: 400 * ms}}, etcd, ""},
		"a bit unsteady":       {unsteady(ms, 60*ms, 70*ms), etcd, "warn network single round trips between members of etcd are longer than 50.0 ms"},
		"unsteady and allowed": {unsteady(ms, 150*ms, 150*ms), Needs{TCP: etcd.TCP, Election: 2 * time.Second}, "warn network single round trips"},
		"far and unsteady":     {unsteady(200*ms, 400*ms, 400*ms), etcd, "fail network the round trip between members"},
	} {
		test.path.From, test.path.To = 0, 1
		m := pairOf(Verdict{Kind: TCP, Port: 2380, State: Open})
		m.Hosts[0].ControlPlane, m.Hosts[1].ControlPlane = true, true
		m.Paths = []Path{test.path}
		got := said(m, test.needs)
		if !strings.Contains(got, test.want) || test.want == "" && got != "" || strings.Contains(got, "\n") {
			t.Errorf("%s: says %q, want %q", name, got, test.want)
		}
	}
}

// TestUnsure: any lost packet makes the path unsure, until a long train has no loss.
func TestUnsure(t *testing.T) {
	fine, lossy := Train{Sent: 320, Arrived: 320}, Train{Sent: 320, Arrived: 319}
	for name, test := range map[string]struct {
		path Path
		want bool
	}{
		"no loss":              {Path{Trains: []Train{fine}, Bursts: []Train{fine}, Streams: []Stream{{Sent: 1}}}, false},
		"the first train":      {Path{Trains: []Train{lossy}}, true},
		"the burst":            {Path{Trains: []Train{fine}, Bursts: []Train{lossy}}, true},
		"the stream":           {Path{Trains: []Train{fine}, Bursts: []Train{fine}, Streams: []Stream{{Resent: 1}}}, true},
		"the host's own drops": {Path{Trains: []Train{{Sent: 320, Arrived: 319, Overrun: 1}}}, false},
		"confirmed once":       {Path{Trains: []Train{fine, lossy}}, true},
		"not confirmed":        {Path{Trains: []Train{lossy, fine}, Bursts: []Train{lossy}}, false},
	} {
		if got := test.path.Unsure(); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// said returns the findings about paths and sizes as text.
func said(m *Matrix, n Needs) string {
	var lines []string
	for _, f := range m.Findings(n) {
		if slices.Contains([]About{AboutPaths, AboutLatency, AboutSize}, f.About) {
			lines = append(lines, fmt.Sprintf("%s %s %s: %s", f.Severity, f.Owner, f.What, strings.Join(f.Between, "; ")))
		}
	}
	return strings.Join(lines, "\n")
}
