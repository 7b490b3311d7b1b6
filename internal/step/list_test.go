package step_test

import (
	"errors"
	"testing"

	"airgap.dev/airgap/internal/step"
)

// TestListKeepsWhatCouldBeBuilt: an error names every step that could not be built, and the
// other steps are still available.
func TestListKeepsWhatCouldBeBuilt(t *testing.T) {
	var l step.List
	noMirror, noDriver := errors.New("no mirror"), errors.New("no driver")
	l.Add(step.Step{Name: "record"})
	l.Try(step.Step{Name: "mirror"}, noMirror)
	l.Extend([]step.Step{{Name: "gpu-cdi"}}, noDriver)
	l.Try(step.Step{Name: "runtime"}, nil)
	steps, err := l.Steps()
	if !errors.Is(err, noMirror) || !errors.Is(err, noDriver) {
		t.Errorf("got %v", err)
	}
	var names string
	for _, s := range steps {
		names += s.Name + " "
	}
	if names != "record gpu-cdi runtime " {
		t.Errorf("the steps are %s", names)
	}
}
