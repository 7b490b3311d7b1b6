package runtime

import (
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

// TestPinStep checks that the step pulls images without the label through the CRI, and labels them
// with ctr.
func TestPinStep(t *testing.T) {
	f, m := hosttest.New(t)
	ctr := host.BinDir + "/ctr --address " + containerd().socket + " --namespace k8s.io images "
	pinned := "registry.k8s.io/pause:3.10.1\n"
	f.Answers[ctr+`list --quiet labels."io.cri-containerd.pinned"==pinned`] = func(host.Cmd) ([]byte, error) { return []byte(pinned), nil }
	f.Answers[ctr+"label"] = func(c host.Cmd) ([]byte, error) {
		pinned += c.Args[len(c.Args)-2] + "\n"
		return nil, nil
	}
	runtime := newRuntime(t, m)
	s := PinStep(m, []string{"registry.k8s.io/pause:3.10.1", "ghcr.io/flannel-io/flannel:v0.28.4"})
	hosttest.MustBeDone(t, s.Done, false)
	changes, err := s.Plan(t.Context())
	if err != nil || strings.Join(changes, "; ") != "pull and pin ghcr.io/flannel-io/flannel:v0.28.4" {
		t.Errorf("plan: %q, %v", changes, err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if strings.Join(runtime.calls, ", ") != "pull ghcr.io/flannel-io/flannel:v0.28.4" || f.Ran(ctr+"label") != 1 {
		t.Errorf("calls of the runtime %q, of ctr %q", runtime.calls, f.Calls)
	}
	pinned = ""
	runtime.fail = errors.New("not found")
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "pull registry.k8s.io/pause:3.10.1") {
		t.Errorf("got %v", err)
	}
}

// TestPinsByLabel checks that containerd from 2.0 on pins images in its configuration.
func TestPinsByLabel(t *testing.T) {
	for version, want := range map[string]bool{"1.7.35": true, "2.0.10": false, "2.3.7": false} {
		if got := (Config{Version: version}).PinsByLabel(); got != want {
			t.Errorf("containerd %s: %t", version, got)
		}
	}
}
