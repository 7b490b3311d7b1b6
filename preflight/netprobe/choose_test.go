package netprobe

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
