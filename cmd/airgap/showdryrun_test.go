package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/cluster/dryrun"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/preflight"
)

// TestDryRunWithFailedChecks: failed checks are in the result, and the exit code is 3.
func TestDryRunWithFailedChecks(t *testing.T) {
	report := preflight.Report{Host: "cp1", Worst: preflight.Fail, Results: []preflight.Entry{{ID: "swap", Result: preflight.Result{Status: preflight.Fail, Found: "2 GB on /dev/sda2"}}}}
	d := dryrun.Plan{Preflight: report, Hosts: []dryrun.Host{{Node: "cp1", Steps: []dryrun.Change{{Step: "sysctls", Title: "Set kernel parameters"}}}}}
	for _, format := range []string{asText, asJSON} {
		var out bytes.Buffer
		a := &app{stdout: &out, output: format}
		err := a.showDryRun(d, nil)
		if c, is := errors.AsType[*exitError](err); !is || c.code != exitcode.Preflight || !errors.Is(err, errPrinted) {
			t.Errorf("%s: got %v, want exit code 3", format, err)
		}
		if !strings.Contains(out.String(), "2 GB on /dev/sda2") || !strings.Contains(out.String(), "Set kernel parameters") {
			t.Errorf("%s: the check or the plan is missing:\n%s", format, &out)
		}
	}
}
