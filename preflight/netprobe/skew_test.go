package netprobe

import (
	"testing"
	"time"
)

// TestSkewOfSlowReplies: the time of a reply from a busy host is not a difference between clocks.
func TestSkewOfSlowReplies(t *testing.T) {
	for name, test := range map[string]struct{ ahead, trip, want time.Duration }{
		"same clocks":           {0, time.Millisecond, 0},
		"busy host":             {700 * time.Millisecond, 1500 * time.Millisecond, 0},
		"busy sender":           {-700 * time.Millisecond, 1500 * time.Millisecond, 0},
		"other clock":           {3 * time.Second, 2 * time.Millisecond, 3*time.Second - time.Millisecond},
		"other clock, and busy": {-3 * time.Second, time.Second, -2500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			p := pair{from: &Report{Attempts: []Attempt{{To: 1, Kind: TCP, Result: Answered, Ahead: test.ahead, Trip: test.trip}}}, to: 1}
			if ahead, known := p.skew(); !known || ahead != test.want {
				t.Errorf("got %s, %v, want %s", ahead, known, test.want)
			}
		})
	}
}
