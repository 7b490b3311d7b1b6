package nodereport

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"airgap.dev/airgap/internal/host"
)

// systemd is a host with the unit, which runs or is stopped.
type systemd struct {
	runs  bool
	boot  string
	calls []string
}

func (s *systemd) FS() fs.FS {
	return fstest.MapFS{"proc/sys/kernel/random/boot_id": {Data: []byte(s.boot + "\n")}}
}

func (s *systemd) Run(_ context.Context, cmd host.Cmd) ([]byte, error) {
	s.calls = append(s.calls, strings.Join(cmd.Args, " "))
	switch cmd.Args[0] {
	case "restart":
		s.runs = true
	case "disable":
		s.runs = false
	case "is-enabled", "is-active":
		if !s.runs {
			return nil, &host.CommandError{ExitCode: 3, Err: errors.New("exit status 3")}
		}
	}
	return nil, nil
}

// TestServiceStep: the step is done while the unit runs with these settings and the cluster has a
// report since the last boot.
func TestServiceStep(t *testing.T) {
	h := &systemd{boot: "b1"}
	var stored *NodeReport
	refused := error(nil)
	s := Service{
		Host: h, SettingsFile: filepath.Join(t.TempDir(), "report.json"), Settings: []byte("{}\n"), Wait: time.Nanosecond,
		Reported: func(context.Context) (*NodeReport, error) {
			if stored == nil {
				return nil, errors.Join(refused, apierrors.NewNotFound(Resource.GroupResource(), "w1"))
			}
			return stored, refused
		},
	}
	step := ServiceStep(s)
	isDone := func(what string, want bool) {
		t.Helper()
		if done, err := step.Done(t.Context()); err != nil || done != want {
			t.Errorf("%s: got done %v, %v, want %v", what, done, err, want)
		}
	}
	isDone("before the step", false)
	if plan, err := step.Plan(t.Context()); err != nil || !slices.Equal(plan, []string{"write " + s.SettingsFile + " (new)", "enable and start " + UnitName}) {
		t.Errorf("plan %q, %v", plan, err)
	}
	if err := step.Run(t.Context()); !errors.Is(err, errNotReported) || !strings.Contains(err.Error(), "journalctl -u "+UnitName) {
		t.Errorf("without a report: %v", err)
	}
	isDone("the unit runs but has not reported", false)
	stored = &NodeReport{Report: Report{BootID: "b1"}}
	if err := step.Run(t.Context()); err != nil {
		t.Error(err)
	}
	isDone("the host has reported", true)
	h.boot = "b2"
	isDone("the report is from before a reboot", false)
	h.boot, refused = "b1", errors.New("connection refused")
	if _, err := step.Done(t.Context()); !errors.Is(err, refused) {
		t.Errorf("the API server does not answer: got %v, want %v", err, refused)
	}
	refused = nil
	for range 2 {
		if err := step.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	isDone("after undo", false)
	if got := h.calls[len(h.calls)-1]; got != "disable --now "+UnitName {
		t.Errorf("last command of undo: got %q", got)
	}
}

func TestUnitSupportsSystemd239(t *testing.T) {
	for _, newer := range []string{"ProtectHostname", "ProtectClock", "ProtectKernelLogs", "RestrictSUIDSGID", "ProtectProc", "ProcSubset", "%d", "Type=exec"} {
		if strings.Contains(string(UnitText()), newer) {
			t.Errorf("the unit has %s, which systemd of EL8 does not support", newer)
		}
	}
}

// TestUnitDevices: the unit may access only systemd's default devices and NVIDIA's.
func TestUnitDevices(t *testing.T) {
	var allowed []string
	for line := range strings.Lines(string(UnitText())) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if key == "DevicePolicy" || key == "DeviceAllow" || key == "PrivateDevices" {
			allowed = append(allowed, value)
		}
	}
	want := []string{"closed", "char-nvidia rw", "char-nvidiactl rw", "char-nvidia-frontend rw", "char-nvidia-caps r"}
	if !slices.Equal(allowed, want) {
		t.Errorf("devices: got %q, want %q", allowed, want)
	}
}
