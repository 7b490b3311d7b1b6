package dataplane

import (
	"fmt"
	"net/netip"
	"testing"
)

// TestTwoRoundsInARow: a failure counts if the next measurement is in one of the next rounds and has
// it, too. Then it stays until a measurement without it.
func TestTwoRoundsInARow(t *testing.T) {
	bad, good := pathResult{tcpLost: 1}, pathResult{}
	s := &pathState{}
	for i, step := range []struct {
		round  int
		result pathResult
		want   int
	}{
		{1, bad, 0}, {2 + recentRounds, bad, 0}, {2 + 2*recentRounds, bad, 1}, {100, bad, 1}, {101, good, 0}, {102, bad, 0}, {103, good, 0}, {104, bad, 0},
	} {
		s.take("w2", step.result, step.round)
		if len(s.failures) != step.want {
			t.Errorf("step %d: got %+v, want %d", i, s.failures, step.want)
		}
	}
}

// TestManyBadPaths: if all paths of a pod in a large cluster are bad, all become failures when their
// turn has come, and all end in the same time.
func TestManyBadPaths(t *testing.T) {
	m := newPaths(func(string) {})
	var peers []peer
	for i := range 300 {
		peers = append(peers, peer{fmt.Sprintf("w%03d", i), netip.MustParseAddrPort("10.0.0.1:8080")})
	}
	turns := func(r pathResult) {
		for range len(peers)/pathsPerRound + 2 {
			m.rounds++
			for _, other := range m.turn(peers, nil) {
				s := m.states[other.node]
				if s == nil {
					s = &pathState{}
					m.states[other.node] = s
				}
				s.take(other.node, r, m.rounds)
			}
		}
	}
	if turns(pathResult{tcpLost: 1}); len(m.failures()) != len(peers) {
		t.Errorf("%d of %d are failures", len(m.failures()), len(peers))
	}
	if turns(pathResult{}); len(m.failures()) != 0 {
		t.Errorf("%d failures remain", len(m.failures()))
	}
}
