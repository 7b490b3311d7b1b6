package verification

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/facts"
)

// TestSplitSkip: --skip of an upgrade can name a check, a rule, both, or neither.
func TestSplitSkip(t *testing.T) {
	checks, rules, err := SplitSkip([]string{"swap", "pods", "conntrack"})
	if err != nil || !slices.Contains(checks, "swap") || slices.Contains(checks, "pods") || !slices.Contains(rules, "pods") || slices.Contains(rules, "swap") {
		t.Errorf("checks %q, rules %q, %v", checks, rules, err)
	}
	if _, _, err := SplitSkip([]string{"swpa"}); err == nil || !strings.Contains(err.Error(), `--skip swpa: there is no such check, and no such rule; did you mean "swap"?`) {
		t.Errorf("a mistake: %v", err)
	}
	if _, _, err := SplitSkip([]string{"nonsense"}); err == nil || strings.Contains(err.Error(), "did you mean") {
		t.Errorf("no check or rule is near: %v", err)
	}
	if _, err := preflight.Run(t.Context(), &facts.Facts{}, preflight.Want{}, preflight.Choice{Skip: checks}); err != nil {
		t.Errorf("preflight does not take them: %v", err)
	}
}
