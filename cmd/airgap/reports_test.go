package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/verify/result"
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

// TestResultWithReport: after a failed verification, the result of an installation is printed, too. A program gets one document.
func TestResultWithReport(t *testing.T) {
	report := result.Report{Findings: []result.Finding{{Rule: "nodes-ready", Object: "Node w1", Saw: "not Ready"}}}
	report.Rules = []result.RuleResult{{ID: "nodes-ready", Title: "Nodes are ready", Outcome: result.Broken}}
	failed := errors.Join(&verification.ReportError{Report: report}, &fleet.IncompleteError{})
	done := install.Result{Node: "cp1", Changed: 3, Report: &report, Hosts: []fleet.Joined{{Node: "w7", Changed: 2}}}
	for format, wants := range map[string][]string{
		asText: {"w7: done (2 steps ran, 0 were up to date)", "Node w1"}, asJSON: {`"w7"`, `"report": {`, "Node w1"}, asYAML: {"w7", "report:", "Node w1"},
		asJUnit: {"Node w1"}, asHTML: {"Node w1"},
	} {
		var out bytes.Buffer
		a := &app{stdout: &out, output: format}
		err := a.show(a.finishVerified(done, true, failed))
		if codeOf(err) != exitcode.Verify || !errors.Is(err, errPrinted) {
			t.Errorf("%s: %v", format, err)
		}
		for _, want := range wants {
			if strings.Count(out.String(), want) != 1 && want != "Node w1" || !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not in\n%s", format, want, &out)
			}
		}
		if format == asJSON && !json.Valid(out.Bytes()) {
			t.Errorf("more than one document:\n%s", &out)
		}
	}
}
