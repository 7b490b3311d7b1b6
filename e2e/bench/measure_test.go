package bench

import (
	"runtime"
	"slices"
	"testing"
)

// TestPeakIsOfTheCommand alone, however much whoever measures it has.
func TestPeakIsOfTheCommand(t *testing.T) {
	ours := slices.Repeat([]byte{1}, 300e6)
	m, err := measure(t.Context(), []string{"SAID=so"}, "sh", "-c", "echo $SAID; echo 'gc 1 @0.1s 2%: x, 4->5->3 MB, 6 MB goal' >&2")
	if err != nil {
		t.Fatal(err)
	}
	if m.peak <= 0 || m.peak > 50e6 || string(m.out) != "so\n" || m.live != 3<<20 {
		t.Errorf("peak %d, live %d, out %q", m.peak, m.live, m.out)
	}
	runtime.KeepAlive(ours)
	if m, err := measure(t.Context(), nil, "sh", "-c", "exit 3"); err == nil {
		t.Errorf("a command that failed was measured: %+v", m)
	}
}
