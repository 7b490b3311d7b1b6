package preflight

import (
	"testing"
	"time"
)

// TestRunCrossHost checks that the report has no checks of a single host.
func TestRunCrossHost(t *testing.T) {
	all := len(crossHostChecks())
	for _, tc := range []struct {
		only []string
		want int
	}{{nil, all}, {[]string{"clock-skew", "os-supported"}, 1}, {[]string{"os-supported"}, 0}} {
		report, err := RunCrossHost(t.Context(), CrossHost{}, Config{}, time.Now(), Choice{Only: tc.only})
		if err != nil || len(report.Results) != tc.want || !report.Passed() {
			t.Errorf("only %v: %+v, %v", tc.only, report.Results, err)
		}
	}
}
