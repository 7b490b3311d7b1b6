package agent

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/preflight/netprobe"
)

// lottery loses each packet with the same probability.
type lottery struct {
	rand *rand.Rand
	loss float64
}

func (l lottery) lost(packets int) (lost int) {
	for range packets {
		if l.rand.Float64() < l.loss {
			lost++
		}
	}
	return lost
}

func (l lottery) train(packets int) netprobe.Train {
	return netprobe.Train{Sent: packets, Arrived: packets - l.lost(packets)}
}

// path has the trains that an agent with many peers sends, and the shortest stream.
func (l lottery) path() netprobe.Path {
	const segment = 1448
	p := netprobe.Path{To: 1, Trains: []netprobe.Train{l.train(pacedRounds * netprobe.FlowCount)}, Bursts: []netprobe.Train{l.train(manyPackets)}}
	p.Streams = []netprobe.Stream{{Resent: l.lost(leastStream / segment)}}
	for p.Unsure() && len(p.Trains) < maxTrains {
		p.Trains = append(p.Trains, l.train(confirmRounds*netprobe.FlowCount))
	}
	return p
}

// TestLossIsFound: a loss of 0.5 % is found in nine of ten measurements, 1 % nearly always, and the
// 0.1 % that a cluster tolerates give a warning in 2 of 100.
func TestLossIsFound(t *testing.T) {
	const runs = 2000
	for loss, want := range map[float64][2]float64{0: {0, 0}, 0.001: {0, 0.02}, 0.005: {0.9, 1}, 0.01: {0.99, 1}} {
		l := lottery{rand.New(rand.NewPCG(1, 2)), loss}
		found := 0
		for range runs {
			m := &netprobe.Matrix{Hosts: make([]netprobe.Host, 2), Paths: []netprobe.Path{l.path()}}
			if said(m, netprobe.Needs{}) != "" {
				found++
			}
		}
		share := float64(found) / runs
		t.Logf("%.1f %%: found in %.1f %%", 100*loss, 100*share)
		assert.GreaterOrEqual(t, share, want[0], loss)
		assert.LessOrEqual(t, share, want[1], loss)
	}
}
