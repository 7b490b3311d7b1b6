package dataplane

import (
	"testing"
	"time"
)

// TestTrips: long round trips between members of etcd are a failure after two measurements. Other nodes, short
// round trips, and an unknown election timeout have none.
func TestTrips(t *testing.T) {
	const ms = time.Millisecond
	etcd := Etcd{Members: []string{"cp1", "cp2"}, Election: time.Second}
	for name, test := range map[string]struct {
		etcd     Etcd
		from, to string
		p99      time.Duration
		want     string
	}{
		"steady":   {etcd, "cp1", "cp2", 100 * ms, ""},
		"unsteady": {etcd, "cp1", "cp2", 400 * ms, "round trips to cp2: 99th percentile 400.0 ms, median 1.0 ms of 100 TCP handshakes; a tenth of etcd's election timeout is 100.0 ms"},
		"allowed":  {Etcd{etcd.Members, 5 * time.Second}, "cp1", "cp2", 400 * ms, ""},
		"a worker": {etcd, "cp1", "w1", 400 * ms, ""},
		"unknown":  {Etcd{}, "cp1", "cp2", 400 * ms, ""},
	} {
		s := &pathState{limit: test.etcd.limit(test.from, test.to)}
		r := pathResult{limit: s.limit, trips: trips{handshakes, ms, test.p99}}
		if s.take(test.to, r, 1); len(s.failures) > 0 {
			t.Errorf("%s: after one measurement: %+v", name, s.failures)
		}
		if s.take(test.to, r, 2); linesOf(s.failures) != test.want {
			t.Errorf("%s: got %q, want %q", name, linesOf(s.failures), test.want)
		}
	}
}

// TestMeasuredTrips: members measure handshakes, other nodes do not.
func TestMeasuredTrips(t *testing.T) {
	_, at := startPathServer(t)
	r, ok := measurePath(t.Context(), at, pathState{limit: time.Minute})
	if !ok || r.trips.samples != handshakes || r.trips.median <= 0 || r.trips.median > r.trips.p99 {
		t.Errorf("%v, %+v", ok, r.trips)
	}
	if r, ok := measurePath(t.Context(), at, pathState{}); !ok || r.trips.samples > 0 {
		t.Errorf("%v, %+v", ok, r.trips)
	}
}
