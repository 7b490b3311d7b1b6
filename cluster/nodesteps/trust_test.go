package nodesteps

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/cluster/site"
)

// TestTrustStepKeepsWhatWasRequired: written down once, it counts for later
// commands without the flag, until another key is required or the step is taken
// back.
func TestTrustStepKeepsWhatWasRequired(t *testing.T) {
	file := filepath.Join(t.TempDir(), "etc", "required-keys")
	a, b := "SHA256:"+strings.Repeat("a", 64), "SHA256:"+strings.Repeat("b", 64)
	for _, required := range [][]string{{a}, {b, a}, {b}} {
		s := TrustStep(file, required)
		if done, err := s.Done(t.Context()); done || err != nil {
			t.Errorf("%v holds before it ran: %v", required, err)
		}
		changes, err := s.Plan(t.Context())
		if err != nil || len(changes) != 1 || !strings.Contains(changes[0], file) {
			t.Errorf("plan: %v, %v", changes, err)
		}
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if done, err := s.Done(t.Context()); !done || err != nil {
			t.Errorf("%v does not hold after it ran: %v", required, err)
		}
		if got, err := site.RecordedKeys(file); err != nil || !slices.Equal(got, required) {
			t.Errorf("recorded %v, %v; want %v", got, err, required)
		}
	}
	if err := TrustStep(file, nil).Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := site.RecordedKeys(file); got != nil || err != nil {
		t.Errorf("after the reset: %v, %v", got, err)
	}
	if done, err := TrustStep(file, nil).Done(t.Context()); !done || err != nil {
		t.Errorf("where nothing is required the step does not hold: %v", err)
	}
}
