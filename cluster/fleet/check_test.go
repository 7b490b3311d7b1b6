package fleet

import (
	"errors"
	"testing"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight"
)

// TestAllPass: the error has the reports of the hosts that failed, and of all hosts.
func TestAllPass(t *testing.T) {
	good, bad := preflight.Report{Host: "node1", Worst: preflight.Pass}, preflight.Report{Host: "node2", Worst: preflight.Fail}
	err := allPass(preflight.Reports{good, bad}, ui.Discard())
	e, is := errors.AsType[*preflight.ReportsError](err)
	if !is || e.Error() != "preflight failed in 1 of 2 reports" || len(e.All) != 2 {
		t.Errorf("got %v", err)
	}
	if err := allPass(preflight.Reports{good, good}, ui.Discard()); err != nil {
		t.Errorf("all pass: %v", err)
	}
}
