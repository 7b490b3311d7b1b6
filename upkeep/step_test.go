package upkeep

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/host"
)

// systemd is a host that records which units are enabled and active.
type systemd struct {
	host.Host

	on    map[string]bool
	calls []string
}

func (s *systemd) Run(_ context.Context, cmd host.Cmd) ([]byte, error) {
	s.calls = append(s.calls, strings.Join(cmd.Args, " "))
	names := cmd.Args[1:]
	switch cmd.Args[0] {
	case "enable":
		for _, name := range names[1:] {
			s.on[name] = true
		}
	case "disable":
		for _, name := range names[1:] {
			delete(s.on, name)
		}
	case "is-enabled", "is-active":
		if !s.on[names[1]] {
			return nil, errors.New("inactive")
		}
	}
	return nil, nil
}

// TestStep: a disabled timer is drift. Reset disables the timers, stops the services and removes the metrics.
func TestStep(t *testing.T) {
	metrics := filepath.Join(t.TempDir(), "metrics")
	s := &systemd{on: map[string]bool{}}
	step := Step(s, metrics, Timers(true))
	wantDone := func(want bool) {
		t.Helper()
		if is, err := step.Done(t.Context()); err != nil || is != want {
			t.Fatalf("Done is %v (%v), want %v", is, err, want)
		}
	}
	wantDone(false)
	if err := step.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantDone(true)
	delete(s.on, RenewTimer)
	wantDone(false)
	if plan, err := step.Plan(t.Context()); err != nil || !slices.Equal(plan, []string{"enable and start " + RenewTimer}) {
		t.Errorf("the plan is %q (%v)", plan, err)
	}
	if err := os.Mkdir(metrics, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := step.Undo(t.Context()); err != nil || len(s.on) > 0 || !slices.Contains(s.calls, "stop airgap-verify.service airgap-certs-renew.service") {
		t.Errorf("undo: %v; active units are %v, the calls were %q", err, s.on, s.calls)
	}
	if _, err := os.Stat(metrics); err == nil {
		t.Error("the directory of metrics remains")
	}
	if workers := Timers(false); !slices.Equal(workers, []string{RenewTimer}) {
		t.Errorf("the timers of a worker are %v", workers)
	}
}

// TestUnits checks the units with systemd-analyze. /bin/true stands for airgap.
func TestUnits(t *testing.T) {
	bundletest.Need(t, "systemd-analyze")
	units, err := Units()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var files []string
	for name, text := range units {
		if text := string(text); strings.HasSuffix(name, ".service") && !strings.Contains(text, "\nExecStart=/usr/bin/airgap ") {
			t.Errorf("%s does not run airgap", name)
		}
		file := filepath.Join(dir, name)
		files = append(files, file)
		text := strings.ReplaceAll(string(text), "/usr/bin/airgap", "/bin/true")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(files)
	output, _ := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, files...)...).CombinedOutput() // the output also has warnings about units of this machine
	for line := range strings.Lines(string(output)) {
		if strings.Contains(line, dir) || strings.Contains(line, "airgap") {
			t.Errorf("systemd reports %s", strings.TrimSpace(line))
		}
	}
}
