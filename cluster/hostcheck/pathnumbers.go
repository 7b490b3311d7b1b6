package hostcheck

import (
	"cmp"
	"fmt"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

// pathNumbers returns the worst numbers of the paths between the hosts as text.
func pathNumbers(m *netprobe.Matrix) string {
	if len(m.Paths) == 0 {
		return "not measured: no agent answers on a TCP port"
	}
	sent, arrived, slowest := 0, 0, 0
	for _, p := range m.Paths {
		for _, t := range p.Trains {
			sent, arrived = sent+t.Sent, arrived+t.Arrived
		}
		for _, s := range p.Streams {
			if rate := s.Rate(); rate > 0 && (slowest == 0 || rate < slowest) {
				slowest = rate
			}
		}
	}
	text := fmt.Sprintf("%d of %d packets arrive on %d paths", arrived, sent, len(m.Paths))
	if slowest > 0 {
		text += fmt.Sprintf("; the slowest short stream has %d Mbit/s", slowest/1_000_000)
	}
	return text
}

// longestTrip returns the longest round trip between control-plane hosts that etcd's times must allow for.
func longestTrip(m *netprobe.Matrix) (longest time.Duration) {
	for _, p := range betweenMembers(m) {
		longest = max(longest, p.Trip())
	}
	return longest
}

// betweenMembers returns the paths between control-plane hosts with measured round trips.
func betweenMembers(m *netprobe.Matrix) (paths []netprobe.Path) {
	for _, p := range m.Paths {
		if p.Latency != nil && m.Hosts[p.From].ControlPlane && m.Hosts[p.To].ControlPlane {
			paths = append(paths, p)
		}
	}
	return paths
}

// latencyNumbers returns the longest median and the longest 99th percentile of round trips between control-plane
// hosts as text. A 99th percentile that a second measurement does not confirm is chance.
func latencyNumbers(m *netprobe.Matrix) string {
	paths := betweenMembers(m)
	if len(paths) == 0 {
		return "not measured: one control-plane host, or its agent does not answer"
	}
	var median, tail time.Duration
	for _, p := range paths {
		median = max(median, p.Latency.Typical())
		tail = max(tail, cmp.Or(p.Tail(), p.Latency.P99))
	}
	return fmt.Sprintf("round trips of at most %.1f ms (median) and %.1f ms (99th percentile) between control-plane hosts", milliseconds(median), milliseconds(tail))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
