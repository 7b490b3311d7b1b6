package bench

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// TestPeakIsOfTheCommand alone, however much whoever measures it has.
func TestPeakIsOfTheCommand(t *testing.T) {
	ours := slices.Repeat([]byte{1}, 300e6)
	m, err := measure(t.Context(), []string{"SAID=so"}, "sh", "-c", "echo $SAID")
	if err != nil {
		t.Fatal(err)
	}
	if m.peak <= 0 || m.peak > 50e6 || string(m.out) != "so\n" {
		t.Errorf("peak %d, out %q", m.peak, m.out)
	}
	runtime.KeepAlive(ours)
	if m, err := measure(t.Context(), nil, "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"); err != nil || m.work <= 0 || m.work > m.took+time.Second {
		t.Errorf("work %s of %s, %v", m.work, m.took, err)
	}
	if m, err := measure(t.Context(), nil, "sh", "-c", "exit 3"); err == nil {
		t.Errorf("a command that failed was measured: %+v", m)
	}
}

// TestCollections reads what a Go program says of its collections of garbage.
func TestCollections(t *testing.T) {
	const said = `gc 1 @0.012s 3%: 0.018+1.1+0.003 ms clock, 0.5+0.25/1.0/0.25+1.0 ms cpu, 4->5->3 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P
it says something else
gc 2 @0.1s 2%: 0.018+1.1+0.003 ms clock, 0+0/2/0+0 ms cpu, 6->7->2 MB, 8 MB goal, 0 MB stacks, 0 MB globals, 2 P
`
	if live, took := collections([]byte(said)); live != 3<<20 || took != 5*time.Millisecond {
		t.Errorf("%d bytes in use, %s", live, took)
	}
	if live, took := collections(nil); live != 0 || took != 0 {
		t.Errorf("of nothing: %d, %s", live, took)
	}
}
