package dataplane

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// linesOf returns the failures as lines.
func linesOf(failures []Failure) string {
	var lines []string
	for _, f := range failures {
		lines = append(lines, f.Target+": "+f.Saw)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestPaths: each fault of a path is a failure after two rounds, with the same text in each round. A
// clean path has none.
func TestPaths(t *testing.T) {
	t.Parallel()
	there := "ip saddr 10.98.0.1 ip daddr 10.98.0.2 "
	ports := make([]int, flows)
	for i := range ports {
		ports[i] = 40000 + i
	}
	for name, test := range map[string]struct {
		rules []string
		want  string
	}{
		"clean": {nil, ""},
		"one flow of 16": {
			[]string{there + "tcp sport 40003 drop", there + "udp sport 40003 drop"},
			"flows to w2: 1 of 16 TCP flows and 1 of 16 UDP flows are lost, on the same source ports each time",
		},
		"one TCP flow on the way back":  {[]string{"ip saddr 10.98.0.2 tcp dport 40003 drop"}, "flows to w2: 1 of 16 TCP flows are lost, on the same source ports each time"},
		"2 % of the packets":            {[]string{there + "udp dport 8081 numgen inc mod 50 0 drop"}, "packets to w2: 20 of 1008 UDP packets are lost (2.0 %)"},
		"loss of 0.1 %":                 {[]string{there + "udp dport 8081 numgen inc mod 1000 3 drop"}, ""},
		"a limit for UDP":               {[]string{there + "udp dport 8081 limit rate over 100 kbytes/second burst 20 kbytes drop"}, "bursts to w2: "},
		"a policy blocks UDP":           {[]string{there + "udp dport 8081 drop"}, ""},
		"a policy blocks all measuring": {[]string{there + "tcp dport 8081 reject", there + "udp dport 8081 drop"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startPods(t, podOptions{Ports: ports})
			if strings.Contains(strings.Join(test.rules, ""), "reject") {
				n.rules(1, test.rules...)
			} else {
				n.rules(2, test.rules...)
			}
			if first := n.round(); linesOf(first.Failures) != "" {
				t.Errorf("after one round: %s", linesOf(first.Failures))
			}
			var last podState
			for range 2 {
				last = n.round()
				got := linesOf(last.Failures)
				if test.want != "" && strings.HasPrefix(test.want, "packets") { // the position in a train is random
					got = strings.Replace(got, "21 of 1008 UDP packets are lost (2.1 %)", "20 of 1008 UDP packets are lost (2.0 %)", 1)
				}
				if strings.HasPrefix(test.want, "bursts") && strings.HasPrefix(got, test.want) && strings.Count(got, "\n") == 0 { // the number varies
					got = test.want
				}
				if got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			}
			if test.want == "" && !strings.Contains(name, "policy blocks all") && (last.Measured != 1 || last.Port == 0) {
				t.Errorf("not measured: %+v", last)
			}
			n.rules(2)
			if after := n.round(); linesOf(after.Failures) != "" {
				t.Errorf("after the fix: %s", linesOf(after.Failures))
			}
		})
	}
}

// TestFaultThenPolicy: a lost flow is no failure any more when a policy blocks the measurement.
func TestFaultThenPolicy(t *testing.T) {
	t.Parallel()
	n := startPods(t, podOptions{})
	n.rules(2, "ip saddr 10.98.0.1 meta l4proto tcp jhash tcp sport mod 2 0 drop", "ip saddr 10.98.0.1 meta l4proto udp jhash udp sport mod 2 0 drop")
	n.round()
	if got := linesOf(n.round().Failures); !strings.HasPrefix(got, "flows to w2: ") {
		t.Fatalf("got %q", got)
	}
	n.rules(2)
	n.rules(1, "tcp dport 8081 reject")
	for range maxUnmeasured - 1 {
		n.round()
	}
	if got := linesOf(n.round().Failures); strings.Contains(got, flowsTo) {
		t.Errorf("got %q", got)
	}
}

// TestBadLink: with one bad link of two, calls without an answer are explained by the lost flows.
func TestBadLink(t *testing.T) {
	t.Parallel()
	n := startPods(t, podOptions{})
	n.rules(2, "ip saddr 10.98.0.1 meta l4proto tcp jhash tcp sport mod 2 0 drop", "ip saddr 10.98.0.1 meta l4proto udp jhash udp sport mod 2 0 drop")
	n.round()
	for range 2 {
		got := linesOf(n.round().Failures)
		if !strings.HasPrefix(got, "flows to w2: ") || strings.Contains(got, "\n") {
			t.Errorf("got %q", got)
		}
	}
}

// TestShortOutage: a loss in a single round is no failure, and an open connection survives an outage.
func TestShortOutage(t *testing.T) {
	t.Parallel()
	n := startPods(t, podOptions{Patience: 2000})
	before := n.round()
	n.rules(2, "udp dport 8081 numgen inc mod 10 0 drop")
	n.round()
	n.rules(2, "drop")
	for range 2 {
		if s := n.round(); strings.Contains(linesOf(s.Failures), "long connection") || strings.Contains(linesOf(s.Failures), "flows") || !s.Waits {
			t.Errorf("during the outage: %+v", s)
		}
	}
	n.rules(2)
	var after podState
	for began := time.Now(); time.Since(began) < 2*time.Minute; time.Sleep(time.Second) {
		if after = n.round(); linesOf(after.Failures) != "" {
			t.Errorf("after the outage: %s", linesOf(after.Failures))
		}
		if !after.Waits {
			break
		}
	}
	if after.Waits || after.Port != before.Port {
		t.Errorf("the connection of port %d did not survive: %+v", before.Port, after)
	}
}

// TestLongConnection: a connection that breaks while both processes run is a failure, with its age and
// its idle time. A replaced pod is none.
func TestLongConnection(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault func(n *podNetwork, port int)
		want  string
	}{
		"reset": {
			func(n *podNetwork, port int) { n.rules(1, fmt.Sprintf("tcp sport %d reject with tcp reset", port)) }, "long connection to w2: was reset at ",
		},
		"dropped after an idle time": {
			func(n *podNetwork, port int) { n.rules(2, fmt.Sprintf("ip saddr 10.98.0.1 tcp sport %d drop", port)) }, "long connection to w2: got no answer at ",
		},
		"replaced pod": {func(n *podNetwork, _ int) { n.replace(podOptions{}) }, ""},
		"healthy":      {func(*podNetwork, int) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startPods(t, podOptions{Idle: 3000, Patience: 1000, Remember: 60_000})
			opened := n.round()
			n.round()
			test.fault(n, opened.Port)
			time.Sleep(3 * time.Second)
			var got string
			for began := time.Now(); time.Since(began) < 30*time.Second && got == ""; time.Sleep(500 * time.Millisecond) {
				got = linesOf(n.round().Failures)
				if test.want == "" && time.Since(began) > 10*time.Second {
					break
				}
			}
			if test.want == "" && got != "" || !strings.HasPrefix(got, test.want) || test.want != "" && (!strings.Contains(got, "s without packets; it was open for ") || strings.Contains(got, "\n")) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if s := n.round(); s.Port == 0 || (test.want != "" || name == "replaced pod") != (s.Port != opened.Port) {
				t.Errorf("the connection of port %d is now of port %d", opened.Port, s.Port)
			}
		})
	}
}
