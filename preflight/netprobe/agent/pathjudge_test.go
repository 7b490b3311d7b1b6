package agent

import (
	"testing"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

// TestFlowsBeside: a port on which only the session passes loses some flows, and not all.
func TestFlowsBeside(t *testing.T) {
	for _, lost := range []int{0, 1, netprobe.FlowCount - 1, netprobe.FlowCount} {
		if f := flowsBeside(10250, make([]int, lost)); f.Tried <= lost || f.Tried > netprobe.FlowCount+1 || len(f.Lost) != lost {
			t.Errorf("%+v", f)
		}
	}
}

// TestTally: repeated packets count once, packets behind a later one of their flow are reordered, and
// old trains make room.
func TestTally(t *testing.T) {
	var a arrivals
	at := time.Unix(5, 0)
	for _, number := range []int{0, 1, 2, 2, 17, 33, 1, 18, 32, 16} { // of flow 0: 0, 32, 16
		a.add(message{kind: netprobe.Paced, from: 3, size: number, clock: at})
	}
	got := decodeTally(a.tally(message{kind: netprobe.Paced, from: 3, size: 17, clock: at}).encode())
	if got.flows[0] != 3 || got.flows[1] != 3 || got.flows[2] != 2 || got.reordered != 1 || got.late != 4 || got.arrived() != 8 {
		t.Errorf("%+v", got)
	}
	if other := a.tally(message{kind: netprobe.Burst, from: 3, clock: at}); other.arrived() != 0 {
		t.Errorf("%+v", other)
	}
	for i := range 10 * keptTrains {
		a.add(message{kind: netprobe.Burst, from: 3, size: i, clock: time.Unix(int64(i), 0)})
	}
	if len(a.trains[3]) != keptTrains {
		t.Errorf("%d trains", len(a.trains[3]))
	}
}
