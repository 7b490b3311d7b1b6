package agent

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestSlowStream: packets with wrong checksums are lost, and TCP sends them again until small ones pass. Such a stream is no
// success, unless the one with checksums by the CPU is slow too.
func TestSlowStream(t *testing.T) {
	broken := errors.New("i/o timeout")
	for _, tc := range []struct {
		card, cpu streamed
		want      string // part of the error; "": a success
	}{
		{streamed{nil, 100 * time.Millisecond}, streamed{nil, 10 * time.Millisecond}, ""},
		{streamed{nil, 15 * time.Second}, streamed{nil, 100 * time.Millisecond}, "1 MiB took 15.0 s, and 0.1 s with checksums by the CPU"},
		{streamed{nil, 15 * time.Second}, streamed{nil, 10 * time.Second}, ""},
		{streamed{nil, 15 * time.Second}, streamed{broken, 3 * time.Second}, ""},
		{streamed{broken, 3 * time.Second}, streamed{nil, time.Second}, "i/o timeout"},
	} {
		err := tc.card.beside(tc.cpu)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v beside %v: got %v, want %q", tc.card, tc.cpu, err, tc.want)
		}
	}
}
