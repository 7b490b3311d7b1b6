package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/preflight"
)

// TestReportsOfSeveralHosts: text, JSON and YAML have only the failed hosts, JUnit and HTML have all.
func TestReportsOfSeveralHosts(t *testing.T) {
	report := func(host string, status preflight.Status) preflight.Report {
		return preflight.Report{Host: host, Worst: status, Results: []preflight.Entry{{ID: "swap", Result: preflight.Result{Status: status}}}}
	}
	good, bad := report("node1", preflight.Pass), report("node2", preflight.Fail)
	for format, wants := range map[string][]string{
		asText: {"node2\n"}, asJSON: {`"host": "node2"`}, asYAML: {"- host: node2"},
		asJUnit: {`hostname="node1"`, `hostname="node2"`}, asHTML: {"Preflight of 2 hosts", "<td>node1</td>", "<td>node2</td>"},
	} {
		var out bytes.Buffer
		a := &app{stdout: &out, output: format}
		err := a.show(&preflight.ReportsError{Failed: preflight.Reports{bad}, All: preflight.Reports{good, bad}})
		if c, is := errors.AsType[*exitError](err); !is || c.code != exitcode.Preflight {
			t.Errorf("%s: %v", format, err)
		}
		for _, want := range wants {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not in\n%s", format, want, &out)
			}
		}
		if len(wants) == 1 && strings.Contains(out.String(), "node1") {
			t.Errorf("%s: node1 passed, but is in\n%s", format, &out)
		}
	}
}
