package kills

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// hostStatus is the output of `airgap status --output json`.
type hostStatus struct {
	Cluster, Kubernetes, Node, From, Registry, Interrupted string
	Bundle                                                 struct{ Name string }
	Steps                                                  []struct{ Step, State, Error string }
	Drifted, Problems                                      []string
}

func status(ctx context.Context, e *scenario.Env, m lab.Machine) (hostStatus, error) {
	var s hostStatus
	r, err := e.Must(ctx, m, nil, "airgap", "status", "--output", "json")
	if err != nil {
		return s, err
	}
	err = json.Unmarshal([]byte(r.Stdout), &s)
	return s, err
}

// checkStatus checks that status reports every step of a host as up to date, and the right
// cluster, node, bundle and registry.
func checkStatus(ctx context.Context, e *scenario.Env, m lab.Machine, from string) error {
	text, err := e.Must(ctx, m, []string{"steps are up to date"}, "airgap", "status")
	if err != nil {
		return err
	}
	fmt.Fprint(e.Log, text.Stdout)
	s, err := status(ctx, e, m)
	if err != nil {
		return err
	}
	if s.Cluster != "bank" || s.Kubernetes != "v1.36.3" || s.Node != m.Name() || s.Bundle.Name != "bank" || s.From != from ||
		s.Registry != "answers at 10.88.0.11:5000" || s.Interrupted != "" || len(s.Drifted)+len(s.Problems) > 0 {
		return fmt.Errorf("%s: status reports %+v", m.Name(), s)
	}
	return nil
}

// drift is a change on a node, and the step that set the changed state.
type drift struct{ step, command string }

func drifts() []drift {
	return []drift{
		{"modules", "rm /etc/modules-load.d/airgap.conf"},
		{"sysctls", "sysctl -qw fs.inotify.max_user_instances=100"},
		{"registry", "systemctl disable -q airgap-registry"},
		{"mirror", "sed -i 's/10.88.0.11/10.88.0.99/' /etc/containerd/certs.d/_default/hosts.toml"},
		{"runtime", "systemctl stop containerd"},
	}
}

// driftRepaired makes five changes: status must name exactly their steps and the steps that
// depend on them, and install must run exactly those five.
func driftRepaired(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	var want []string
	for _, d := range drifts() {
		if err := e.Script(ctx, m, d.command); err != nil {
			return err
		}
		want = append(want, d.step)
	}
	slices.Sort(want)
	s, err := status(ctx, e, m)
	if err != nil {
		return err
	}
	// The canary's pull proves nothing for another mirror. With the first mirror it is valid again.
	named := slices.Sorted(slices.Values(append([]string{"canary"}, want...)))
	if slices.Sort(s.Drifted); !slices.Equal(s.Drifted, named) {
		return fmt.Errorf("status reports the drifted steps %q, want %q", s.Drifted, named)
	}
	text, err := e.Must(ctx, m, []string{"fs.inotify.max_user_instances 100 → 8192", "write /etc/modules-load.d/airgap.conf (new)", "start containerd.service"}, "airgap", "status")
	if err != nil {
		return err
	}
	fmt.Fprint(e.Log, text.Stdout)
	r, err := e.Must(ctx, m, nil, "airgap", "install", scenario.LabSkips, lab.StickPath+"/bank")
	if err != nil {
		return err
	}
	if ran := stepsThatRan(r.Stderr); !slices.Equal(ran, want) {
		return fmt.Errorf("install ran %q, want %q", ran, want)
	}
	return checkStatus(ctx, e, m, "/var/lib/airgap/store")
}

// stepsThatRan returns the changed steps in the plain progress output of install, sorted.
func stepsThatRan(output string) []string {
	var ran []string
	for line := range strings.Lines(output) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "changed" {
			ran = append(ran, words[1])
		}
	}
	slices.Sort(ran)
	return ran
}
