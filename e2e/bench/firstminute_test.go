package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestTimesOf: each line of the demo's output comes a second after the one before it.
func TestTimesOf(t *testing.T) {
	const output = `The first run compiles Kubernetes
compile 2 projects: about 10m0s on 2 idle cores
programs etcd ...
programs etcd: modules after 1.5 s
programs kubernetes: modules after 2.0 s
programs etcd: 3.0 s
programs kubernetes: 4.0 s
image registry.k8s.io/pause:3.10.2 ...
── 1. In the bank: two servers ──
programs are installed
`
	began := time.Now()
	clock := began
	times := timesOf(began, strings.NewReader(output), func() time.Time {
		clock = clock.Add(time.Second)
		return clock
	})
	want := demoTimes{downloads: 3500 * time.Millisecond, built: 2 * time.Second, compiled: 7 * time.Second, prepared: 9 * time.Second}
	if times != want {
		t.Fatalf("%+v, want %+v", times, want)
	}
	var out bytes.Buffer
	w := &figures{out: &out}
	times.print(w, 13*time.Minute)
	if !strings.Contains(out.String(), "bench firstminute-compile-cluster 5 s of 780 s\n") || len(w.missed) != 1 {
		t.Fatalf("%s, missed %q", out.String(), w.missed)
	}
}
