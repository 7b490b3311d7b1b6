package rehearsal

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

func aDryRun(worst preflight.Status) Plan {
	here := Host{Node: "cp1", Address: "10.0.0.11", Roles: []config.Role{config.ControlPlane}, Command: "install", Asked: true}
	here.add([]step.Forecast{
		{Step: step.Step{Name: "store", Title: "Copy the bundle"}, Holds: true},
		{Step: step.Step{Name: "sysctls", Title: "Set kernel parameters"}, Changes: []string{"net.ipv4.ip_forward 0 → 1"}},
		{Step: step.Step{Name: "network", Title: "Bring up the pod network"}, Untold: errors.New("open /etc/kubernetes/admin.conf: no such file")},
	})
	there := Host{Node: "w1", Address: "10.0.0.21", Roles: []config.Role{config.Worker}, Command: "join", Steps: []Change{{Step: "packages", Title: "Install the packages"}}}
	report := preflight.Report{Host: "cp1", Worst: worst, Results: []preflight.Entry{{ID: "swap", Result: preflight.Result{Status: worst, Found: "2 GB on /dev/sda2"}}}}
	return Plan{Preflight: report, Hosts: []Host{here, there}}
}

func TestDryRunShowsWhatWouldChange(t *testing.T) {
	var text bytes.Buffer
	if err := aDryRun(preflight.Pass).Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"cp1 (10.0.0.11, control-plane): airgap install would run 2 steps; holding already: 1\n",
		"sysctls          Set kernel parameters\n",
		"  net.ipv4.ip_forward 0 → 1\n",
		"(more when the steps before it have run)\n",
		"w1 (10.0.0.21, worker): airgap join would run 1 step; --dry-run there says what is left to change\n",
		"nothing was changed\n",
	} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("%q is not in\n%s", line, &text)
		}
	}
	if strings.Contains(text.String(), "admin.conf") || strings.Contains(text.String(), "Copy the bundle") {
		t.Errorf("what an earlier step brings looks like a failure, or what holds like work:\n%s", &text)
	}
}

// TestDryRunIsReadBack: its JSON has all of it.
func TestDryRunIsReadBack(t *testing.T) {
	text, err := json.Marshal(aDryRun(preflight.Fail))
	if err != nil {
		t.Fatal(err)
	}
	var d Plan
	if err := json.Unmarshal(text, &d); err != nil || len(d.Hosts) != 2 || d.Hosts[0].Holds != 1 || d.Hosts[1].Asked || d.Preflight.Worst != preflight.Fail {
		t.Errorf("read back: %+v, %v", d, err)
	}
}
