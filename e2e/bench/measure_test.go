package bench

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// TestPeakIsOfTheCommand checks that the peak does not include the memory of the measuring process.
func TestPeakIsOfTheCommand(t *testing.T) {
	ours := slices.Repeat([]byte{1}, 300e6)
	m, err := measure(t.Context(), []string{"SAID=so"}, "sh", "-c", "echo $SAID")
	if err != nil {
		t.Fatal(err)
	}
	if m.peak <= 0 || m.peak > 50e6 || string(m.out) != "so\n" {
		t.Errorf("got peak %d and output %q, want at most 50 MB and \"so\"", m.peak, m.out)
	}
	runtime.KeepAlive(ours)
	if m, err := measure(t.Context(), nil, "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"); err != nil || m.work <= 0 || m.work > m.took+time.Second {
		t.Errorf("got %s CPU time in %s and error %v", m.work, m.took, err)
	}
	if m, err := measure(t.Context(), nil, "sh", "-c", "exit 3"); err == nil {
		t.Errorf("got %+v for a command that fails, want an error", m)
	}
}

// TestCollections reads the garbage collection trace of a Go program.
func TestCollections(t *testing.T) {
	const trace = `gc 1 @0.012s 3%: 0.018+1.1+0.003 ms clock, 0.5+0.25/1.0/0.25+1.0 ms cpu, 4->5->3 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P
it says something else
gc 2 @0.1s 2%: 0.018+1.1+0.003 ms clock, 0+0/2/0+0 ms cpu, 6->7->2 MB, 8 MB goal, 0 MB stacks, 0 MB globals, 2 P
`
	if live, took := collections([]byte(trace)); live != 3<<20 || took != 5*time.Millisecond {
		t.Errorf("got %d bytes and %s, want 3 MiB and 5ms", live, took)
	}
	if live, took := collections(nil); live != 0 || took != 0 {
		t.Errorf("got %d and %s without a trace, want zeros", live, took)
	}
}
