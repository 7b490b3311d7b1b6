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

// systemd is a host that knows which units are enabled and run.
type systemd struct {
	host.Host

	on    map[string]bool
	asked []string
}

func (s *systemd) Run(_ context.Context, cmd host.Cmd) ([]byte, error) {
	s.asked = append(s.asked, strings.Join(cmd.Args, " "))
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

// TestStep: a timer that is off is drift; reset leaves no timer, nothing at work and no file.
func TestStep(t *testing.T) {
	metrics := filepath.Join(t.TempDir(), "metrics")
	s := &systemd{on: map[string]bool{}}
	step := Step(s, metrics, Timers(true))
	holds := func(want bool) {
		t.Helper()
		if is, err := step.Done(t.Context()); err != nil || is != want {
			t.Fatalf("it holds: %v, %v", is, err)
		}
	}
	holds(false)
	if err := step.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(true)
	delete(s.on, RenewTimer)
	holds(false)
	if plan, err := step.Plan(t.Context()); err != nil || !slices.Equal(plan, []string{"enable and start " + RenewTimer}) {
		t.Errorf("the plan is %q (%v)", plan, err)
	}
	if err := os.Mkdir(metrics, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := step.Undo(t.Context()); err != nil || len(s.on) > 0 || !slices.Contains(s.asked, "stop airgap-verify.service airgap-certs-renew.service") {
		t.Errorf("undo: %v; on are %v, asked was %q", err, s.on, s.asked)
	}
	if _, err := os.Stat(metrics); err == nil {
		t.Error("the file of the last verdict stays")
	}
	if workers := Timers(false); !slices.Equal(workers, []string{RenewTimer}) {
		t.Errorf("a worker has %v", workers)
	}
}

// TestUnits has systemd read the units, with programs that are there.
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
	said, _ := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, files...)...).CombinedOutput() // it complains of the host's own units, too
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, dir) || strings.Contains(line, "airgap") {
			t.Errorf("systemd says %s", strings.TrimSpace(line))
		}
	}
}
