package bench

import (
	"strings"
	"testing"
)

// TestNetworkFigures reads the output of the Go benchmark: each number of hosts has the time of an open and of a
// closed network.
func TestNetworkFigures(t *testing.T) {
	const out = "goos: linux\n" +
		"BenchmarkHosts/2/open-2         \t       1\t4012345678 ns/op\t         2.000 pairs\t         4.012 seconds\n" +
		"BenchmarkHosts/2/closed-2       \t       1\t9012345678 ns/op\t         2.000 pairs\t         9.012 seconds\n" +
		"BenchmarkHosts/10/open-2        \t       1\t6012345678 ns/op\t        90.00 pairs\t         6.012 seconds\n" +
		"BenchmarkHosts/10/closed-2      \t       1\t9512345678 ns/op\t        90.00 pairs\t         9.512 seconds\n" +
		"BenchmarkHosts/100/open-2       \t       1\t75012345678 ns/op\t      2500 pairs\t        75.01 seconds\n" +
		"BenchmarkHosts/100/closed       \t       1\t99012345678 ns/op\t      2500 pairs\t        99.01 seconds\nPASS\n"
	var text strings.Builder
	w := &figures{out: &text}
	if err := networkFigures(out, w); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"bench network-2-hosts-open 4.01 s limit=90s 0.04 <=1.00 HOLDS\n", "bench network-10-hosts-closed 9.51 s limit=90s 0.11 <=1.00 HOLDS\n",
		"bench network-100-hosts-open 75.01 s limit=90s 0.83 <=1.00 HOLDS\n", "bench network-100-hosts-closed 99.01 s limit=90s 1.10 <=1.00 MISS\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no line %q in\n%s", want, &text)
		}
	}
	if w.verdict(nil) == nil {
		t.Error("99 s for a hundred hosts hold the target")
	}
	if networkFigures(strings.ReplaceAll(out, "Hosts/10/", "Other/10/"), w) == nil {
		t.Error("an output without ten hosts is accepted")
	}
}
