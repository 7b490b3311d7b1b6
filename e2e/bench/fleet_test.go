package bench

import (
	"strings"
	"testing"
)

// TestPrintFleet: each figure of the benchmark has a line and a limit. A missing one is an error.
func TestPrintFleet(t *testing.T) {
	const out = "BenchmarkThreeHundredHosts-2   1  22946613605 ns/op  110.3 all-MB  1218 files  13.32 join-s  11400 log-lines  " +
		"4.502 login-s  20.77 preflight-s  25.00 report-lines  14.05 sessions-MB\nPASS\n"
	var text strings.Builder
	w := &figures{out: &text}
	if err := printFleet([]byte(out), w); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"bench fleet-300-hosts-login-s 4.50 s first=4.20s 1.07 <=1.50 HOLDS\n", "bench fleet-300-hosts-sessions-MB 14.05 MB first=22MB 0.64 <=1.00 HOLDS\n",
		"bench fleet-300-hosts-report-lines 25.00 lines terminal=24 1.04 <=1.00 MISS\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, &text)
		}
	}
	if lines := strings.Count(text.String(), "\n"); lines != len(fleetFigures()) {
		t.Errorf("got %d lines", lines)
	}
	if err := printFleet([]byte(strings.Replace(out, "join-s", "", 1)), w); err == nil || !strings.Contains(err.Error(), "no join-s") {
		t.Errorf("got %v", err)
	}
}
