package advice

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"maxPods", "mode", "apiServer", "podCIDR", "install", "swap", "w1", "el9", "worker1", "컨테이너"}
	for name, want := range map[string]string{
		"maxPodz": "maxPods", "MODE": "mode", "modee": "mode", "apiserver": "apiServer", "api_srver": "apiServer",
		"isntall": "install", "swpa": "swap", "wroker1": "worker1", "컨테이나": "컨테이너",
		"x": "", "": "", "somethingElse": "", "w2": "", "el8": "", "worker2": "", "none": "", "snap-shot": "", "pods": "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if Nearest(strings.Repeat("a", 100), []string{strings.Repeat("a", 99)}) != "" {
		t.Error("a suggestion for a long name")
	}
}

func TestDidYouMean(t *testing.T) {
	known := []string{"compliance", "certs", "certs-expiry", "swap"}
	for typed, want := range map[string]string{
		"swpa":    `; did you mean "swap"?`,
		"complia": `; did you mean "compliance"?`,
		"cert":    `; did you mean "certs"?`,
		"ce":      "", // too short
		"network": "",
		"":        "",
	} {
		if got := DidYouMean(typed, known); got != want {
			t.Errorf("%s: %q, want %q", typed, got, want)
		}
	}
}
