package hostcheck

import (
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

// longestTrip returns the longest typical round trip between control-plane hosts, and whether one was measured.
func longestTrip(m *netprobe.Matrix) (longest time.Duration, measured bool) {
	for _, p := range m.Paths {
		if p.Latency != nil && m.Hosts[p.From].ControlPlane && m.Hosts[p.To].ControlPlane {
			longest, measured = max(longest, p.Latency.Typical()), true
		}
	}
	return longest, measured
}

// latencyNumbers returns the longest round trip between control-plane hosts as text.
func latencyNumbers(m *netprobe.Matrix) string {
	longest, measured := longestTrip(m)
	if !measured {
		return "not measured: one control-plane host, or its agent does not answer"
	}
	return fmt.Sprintf("round trips of at most %.1f ms between control-plane hosts", float64(longest)/float64(time.Millisecond))
}
