package netprobe

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkHundredHosts measures between a hundred hosts on one machine, with as many of
// the pairs as the command tries. Its target, 60 s, is in `make bench`.
func BenchmarkHundredHosts(b *testing.B) {
	n := newNetwork(b, 100)
	plan := n.plan()
	plan.Pairs = DefaultPairs
	for b.Loop() {
		start := time.Now()
		m := n.matrix(plan)
		b.ReportMetric(time.Since(start).Seconds(), "s")
		b.ReportMetric(float64(m.Tried), "pairs")
		wrong := map[string]int{}
		for _, v := range m.Verdicts {
			if v.State != Open {
				wrong[fmt.Sprint(v.Kind, " ", v.Port, " ", v.State, " ", v.Why)]++
			}
		}
		if len(wrong) > 0 {
			b.Errorf("of %d verdicts on an open network: %v", len(m.Verdicts), wrong)
		}
	}
}
