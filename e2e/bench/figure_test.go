package bench

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// TestVerdict: a figure that misses its target fails the run, after all parts. The error
// names the figure.
func TestVerdict(t *testing.T) {
	broke := errors.New("it broke")
	for name, tc := range map[string]struct {
		figures []figure
		err     error    // of the measurement
		want    []string // parts of the error; none: no error
	}{
		"nothing measured":   {},
		"just at its target": {figures: []figure{seconds("import", time.Second, "cp", time.Second, 1.0)}},
		"one above": {
			figures: []figure{resident("peak", measured{peak: 150e6}), seconds("import", 13*time.Second, "cp", 10*time.Second, 1.2)},
			want:    []string{"targets: import (1.30, target at most 1.20)"},
		},
		"two above":              {figures: []figure{resident("peak", measured{peak: 151e6}), perGB("fill", 2, 1, "crane", 1, 1, 1.0)}, want: []string{"peak (1.01,", "fill (2.00,"}},
		"nothing to compare":     {figures: []figure{{"growth", 1, "us", "none", math.NaN(), 1.3}}, want: []string{"growth (NaN,"}},
		"the measurement failed": {figures: []figure{resident("peak", measured{peak: 1})}, err: broke, want: []string{"it broke"}},
		"both, one after a miss": {figures: []figure{resident("peak", measured{peak: 300e6})}, err: broke, want: []string{"it broke", "peak (2.00,"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			w := &figures{out: &out}
			for _, f := range tc.figures {
				f.print(w)
			}
			if lines := strings.Count(out.String(), "bench "); lines != len(tc.figures) {
				t.Errorf("got %d lines, want %d:\n%s", lines, len(tc.figures), out.String())
			}
			err := w.verdict(tc.err)
			if len(tc.want) == 0 {
				if err != nil || strings.Contains(out.String(), "MISS") {
					t.Errorf("got error %v, want none, and no MISS in:\n%s", err, out.String())
				}
				return
			}
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
			}
			if errors.Is(err, broke) != (tc.err != nil) {
				t.Errorf("got %v, want the error of the measurement: %v", err, tc.err)
			}
		})
	}
}

func TestRunRefusesUnknownParts(t *testing.T) {
	if err := Run(t.Context(), "", []string{"fill", "pulled"}, nil, nil); err == nil || !strings.Contains(err.Error(), `no part "pulled"`) {
		t.Errorf("got %v", err)
	}
}
