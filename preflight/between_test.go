package preflight

import (
	"testing"
	"time"
)

// TestRunBetween: no check of a single host is asked of what lies between them.
func TestRunBetween(t *testing.T) {
	all := len(betweenChecks())
	for _, tc := range []struct {
		only []string
		want int
	}{{nil, all}, {[]string{"clock-skew", "os-supported"}, 1}, {[]string{"os-supported"}, 0}} {
		report, err := RunBetween(t.Context(), Between{}, Config{}, time.Now(), Choice{Only: tc.only})
		if err != nil || len(report.Results) != tc.want || !report.Passed() {
			t.Errorf("only %v: %+v, %v", tc.only, report.Results, err)
		}
	}
}
