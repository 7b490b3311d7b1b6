package gates

import (
	"testing"
)

// TestTrials: the scenario plays at least 30 trials, and each has its own name and a
// statement about its failure.
func TestTrials(t *testing.T) {
	seen, count := map[string]bool{}, 0
	for _, g := range groups() {
		for _, one := range g.trials {
			count++
			if seen[one.name] {
				t.Errorf("%s: a duplicate", one.name)
			}
			seen[one.name] = true
			if one.code != 0 && len(one.says) == 0 {
				t.Errorf("%s: an error without a text", one.name)
			}
		}
	}
	if count < 30 {
		t.Errorf("%d trials, want at least 30", count)
	}
}
