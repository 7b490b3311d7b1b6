package advice

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"maxPods", "mode", "apiServer", "podCIDR"}
	for name, want := range map[string]string{"maxPodz": "maxPods", "MODE": "mode", "modee": "mode", "apiserver": "apiServer", "x": "", "somethingElse": ""} {
		if got := Nearest(name, known); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if Nearest(strings.Repeat("a", 100), nil) != "" {
		t.Error("a name out of nothing")
	}
}
