package netprobe

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// BenchmarkHundredHosts measures between a hundred hosts on one machine, with as many of
// the pairs as the command tries: on a network that lets everything through, and on one
// that lets nothing. `make bench` has the target.
func BenchmarkHundredHosts(b *testing.B) {
	for name, rules := range map[string][]string{"open": nil, "closed": {"meta protocol ip drop"}} {
		b.Run(name, func(b *testing.B) {
			b.Cleanup(roomForNeighbours(b))
			n := newNetwork(b, 100)
			n.lose(rules...)
			plan := n.plan()
			plan.Pairs, plan.Patience = DefaultPairs, 30
			for b.Loop() {
				start := time.Now()
				m := n.matrix(plan)
				b.ReportMetric(time.Since(start).Seconds(), "seconds")
				b.ReportMetric(float64(m.Tried), "pairs")
				if wrong := unlike(m, len(rules) == 0); len(wrong) > 0 {
					b.Errorf("of %d verdicts: %v", len(m.Verdicts), wrong)
				}
			}
		})
	}
}

// unlike counts the verdicts that are not what the network is.
func unlike(m *Matrix, open bool) map[string]int {
	wrong := map[string]int{}
	for _, v := range m.Verdicts {
		if (v.State == Open) != open {
			wrong[fmt.Sprint(v.Kind, " ", v.Port, " ", v.State, " ", v.Why)]++
		}
	}
	return wrong
}

// roomForNeighbours lets the machine keep the neighbours of a hundred hosts, whose
// tables the kernel counts as one.
func roomForNeighbours(b *testing.B) (restore func()) {
	b.Helper()
	before := map[string][]byte{}
	for i, room := range []string{"16384", "32768", "65536"} {
		file := fmt.Sprintf("/proc/sys/net/ipv4/neigh/default/gc_thresh%d", i+1)
		had, err := os.ReadFile(file)
		if err != nil {
			b.Skip("not in this namespace: " + err.Error())
		}
		before[file] = had
		if err := os.WriteFile(file, []byte(room), 0o644); err != nil {
			b.Skip("wants root: " + err.Error())
		}
	}
	return func() {
		for file, had := range before {
			_ = os.WriteFile(file, []byte(strings.TrimSpace(string(had))), 0o644)
		}
	}
}
