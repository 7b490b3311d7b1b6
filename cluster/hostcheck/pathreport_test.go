package hostcheck

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// TestAddPaths: the report has each number of each path.
func TestAddPaths(t *testing.T) {
	m := &netprobe.Matrix{
		Hosts:    []netprobe.Host{{Name: "a"}, {Name: "b"}},
		Verdicts: []netprobe.Verdict{{From: 0, To: 1, Kind: netprobe.Size, Size: 1400, MTU: 1500}, {From: 0, To: 1, Kind: netprobe.TCP, Port: 6443}},
		Paths: []netprobe.Path{
			{From: 1, To: 0, Trains: []netprobe.Train{{Sent: 320, Arrived: 320}}},
			{
				From: 0, To: 1, TCP: &netprobe.Flows{Tried: 16, Lost: []int{40001}}, UDP: &netprobe.Flows{Tried: 16},
				Trains:  []netprobe.Train{{Sent: 320, Arrived: 300, Dead: 20}, {Sent: 1008, Arrived: 1000, Overrun: 2}},
				Bursts:  []netprobe.Train{{Sent: 240, Arrived: 200, Reordered: 20, Carried: 9e6}},
				Latency: &netprobe.Latency{Median: 2 * time.Millisecond, P99: 9 * time.Millisecond, Jitter: time.Millisecond},
				Streams: []netprobe.Stream{{Sent: 1e6, Took: time.Second}},
			},
		},
	}
	r := preflight.Report{Results: []preflight.Entry{{ID: preflight.PathMTU}, {ID: preflight.PathQuality}}}
	addPaths(&r, m)
	assert.Empty(t, r.Results[0].Paths)
	assert.Equal(t, []preflight.Path{
		{
			From: "a", To: "b", TCP: preflight.Flows{Tried: 16, Lost: 1}, UDP: preflight.Flows{Tried: 16}, Sent: 1308, Lost: 6, ReorderedPercent: 10,
			Trip: &preflight.Trip{Median: 2, P99: 9, Jitter: 1}, StreamRate: 8_000_000, BurstRate: 9_000_000, Size: 1400, MTU: 1500,
		},
		{From: "b", To: "a", Sent: 320},
	}, r.Results[1].Paths)
}
