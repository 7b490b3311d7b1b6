package verify

import (
	"testing"
	"time"
)

// TestPacing: short rounds do not wait, and judging never takes more than a tenth of the time, unless a
// round is longer than a twentieth of a second.
func TestPacing(t *testing.T) {
	for _, round := range []time.Duration{10 * time.Microsecond, time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond} {
		var p pacing
		began := time.Now()
		now, spent := began, time.Duration(0)
		for rounds := 0; now.Sub(began) < time.Minute; rounds++ {
			ended := now.Add(round)
			pause := p.pause(now, ended)
			if rounds == 0 && pause != shortestPause {
				t.Errorf("rounds of %s: the first pause is %s", round, pause)
			}
			now, spent = ended.Add(pause), spent+round
		}
		if limit := (time.Minute + paceWindow) / 10; spent > limit+round {
			t.Errorf("rounds of %s: %s of judging in a minute, limit %s", round, spent, limit)
		}
	}
	var p pacing
	now := time.Now()
	if got := p.pause(now, now.Add(time.Second)); got != longestPause {
		t.Errorf("a long round: got %s, want %s", got, longestPause)
	}
}
