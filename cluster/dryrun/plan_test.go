package dryrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/preflight"
)

func dryRunPlan(worst preflight.Status) Plan {
	here := Host{Node: "cp1", Address: "10.0.0.11", Roles: []config.Role{config.ControlPlane}, Command: "install", Asked: true}
	here.add([]step.Forecast{
		{Step: step.Step{Name: "store", Title: "Copy the bundle"}, UpToDate: true},
		{Step: step.Step{Name: "sysctls", Title: "Set kernel parameters"}, Changes: []string{"net.ipv4.ip_forward 0 → 1"}},
		{Step: step.Step{Name: "network", Title: "Apply the pod network"}, Incomplete: errors.New("open /etc/kubernetes/admin.conf: no such file")},
	})
	other := Host{Node: "w1", Address: "10.0.0.21", Roles: []config.Role{config.Worker}, Command: "join", Steps: []Change{{Step: "packages", Title: "Install the packages"}}}
	report := preflight.Report{Host: "cp1", Worst: worst, Results: []preflight.Entry{{ID: "swap", Result: preflight.Result{Status: worst, Found: "2 GB on /dev/sda2"}}}}
	return Plan{Preflight: report, Hosts: []Host{here, other}}
}

func TestDryRunShowsWhatWouldChange(t *testing.T) {
	var text bytes.Buffer
	if err := dryRunPlan(preflight.Pass).Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"cp1 (10.0.0.11, control-plane): airgap install would run 2 steps; up to date: 1\n",
		"sysctls          Set kernel parameters\n",
		"  net.ipv4.ip_forward 0 → 1\n",
		"(more changes are known after the earlier steps)\n",
		"w1 (10.0.0.21, worker): airgap join would run 1 step; to see the changes, use --all-hosts, or --dry-run there\n",
		"nothing was changed\n",
	} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("missing %q in\n%s", line, &text)
		}
	}
	if strings.Contains(text.String(), "admin.conf") || strings.Contains(text.String(), "Copy the bundle") {
		t.Errorf("a result of an earlier step looks like a failure, or an up-to-date step looks like a change:\n%s", &text)
	}
}

// TestPlanJSON: the JSON of a plan contains all its data.
func TestPlanJSON(t *testing.T) {
	text, err := json.Marshal(dryRunPlan(preflight.Fail))
	if err != nil {
		t.Fatal(err)
	}
	var d Plan
	if err := json.Unmarshal(text, &d); err != nil || len(d.Hosts) != 2 || d.Hosts[0].UpToDate != 1 || d.Hosts[1].Asked || d.Preflight.Worst != preflight.Fail {
		t.Errorf("read back: %+v, %v", d, err)
	}
	if !bytes.Contains(text, []byte(`"holds":1,`)) || !bytes.Contains(text, []byte(`"untold":"`)) {
		t.Errorf("the old names are missing:\n%s", text)
	}
}
