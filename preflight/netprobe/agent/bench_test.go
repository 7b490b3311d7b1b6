package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

// BenchmarkHosts measures between hosts on one machine, with the number of pairs of the command, on an
// open network and on a closed one. `make bench` has the target for a hundred hosts.
func BenchmarkHosts(b *testing.B) {
	for _, hosts := range []int{2, 10, 100} {
		benchmarkHosts(b, hosts, "open")
		benchmarkHosts(b, hosts, "closed", "meta protocol ip drop")
	}
}

func benchmarkHosts(b *testing.B, hosts int, name string, rules ...string) {
	b.Run(fmt.Sprintf("%d/%s", hosts, name), func(b *testing.B) {
		b.Cleanup(growNeighborTable(b))
		n := newNetwork(b, hosts)
		n.lose(rules...)
		plan := n.plan()
		plan.Pairs, plan.Patience = netprobe.DefaultPairs, 30
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

// unlike counts the wrong results.
func unlike(m *netprobe.Matrix, open bool) map[string]int {
	wrong := map[string]int{}
	for _, v := range m.Verdicts {
		if (v.State == netprobe.Open) != open {
			wrong[fmt.Sprint(v.Kind, " ", v.Port, " ", v.State, " ", v.Why)]++
		}
	}
	return wrong
}

// growNeighborTable makes room for the neighbors of a hundred hosts: the kernel has one limit for
// the tables of all namespaces.
func growNeighborTable(b *testing.B) (restore func()) {
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
			b.Skip("needs root: " + err.Error())
		}
	}
	return func() {
		for file, had := range before {
			_ = os.WriteFile(file, []byte(strings.TrimSpace(string(had))), 0o644)
		}
	}
}
