package netprobe

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestChoiceAdvice: the error asks the team whose devices block the packets.
func TestChoiceAdvice(t *testing.T) {
	for state, want := range map[State]string{
		NetworkCloses: "Ask the network administrators to allow UDP to port 8472",
		AnswersLost:   "Ask the network administrators to allow UDP to port 8472",
		HostCloses:    "Allow UDP to port 8472, and the answers, in the packet filters of these hosts",
		SenderCloses:  "Allow UDP to port 8472, and the answers, in the packet filters of these hosts",
	} {
		_, err := pairOf(Verdict{Kind: VXLANTCP, Port: 8472, State: state}).Choose(Options{Ports: []int{8472}})
		assert.ErrorContains(t, err, want, state)
	}
}

// TestChoosesWidePort: a port that loses large packets is not chosen if another one passes them.
func TestChoosesWidePort(t *testing.T) {
	host := func(self int) *Report {
		r := &Report{Schema: Schema, Self: self, MTU: 1500, Hosts: []Host{{Name: "a"}, {Name: "b"}}}
		for port, most := range map[int]int{8472: 1400, 4789: 1500} {
			for _, kind := range []Kind{VXLANPing, VXLANUDP} {
				r.Attempts = append(r.Attempts, Attempt{To: 1 - self, Kind: kind, Port: port, Result: Answered})
			}
			stream := Attempt{To: 1 - self, Kind: VXLANTCP, Port: port, Result: Answered}
			if most < 1500 {
				stream.Result = NoReply
			}
			r.Attempts = append(r.Attempts, stream)
			for _, size := range []int{1280, 1400, 1500} {
				r.Attempts = append(r.Attempts, Attempt{To: 1 - self, Kind: Size, Port: port, Size: size, Result: Sent})
				if size <= most {
					r.Observations = append(r.Observations, Observation{From: 1 - self, Kind: Size, Port: port, Size: size, Layer: AtSocket})
				}
			}
		}
		return r
	}
	m, err := Judge([]*Report{host(0), host(1)})
	require.NoError(t, err)
	for _, test := range []struct {
		ports     []int
		port, mtu int
	}{{[]int{8472, 4789}, 4789, 0}, {[]int{4789, 8472}, 4789, 0}, {[]int{8472}, 8472, 1400}} {
		c, err := m.Choose(Options{Ports: test.ports})
		require.NoError(t, err)
		assert.Equal(t, test.port, c.Port, "%v: %v", test.ports, c.Why)
		assert.Equal(t, test.mtu, c.MTU, "%v: %v", test.ports, c.Why)
	}
	for _, v := range m.Verdicts {
		assert.False(t, v.Kind == VXLANTCP && (v.State == Narrow) != (v.Port == 8472), "%+v", v)
	}
}
