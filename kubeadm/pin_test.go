package kubeadm

import (
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// TestPinStep pulls and labels what has no label yet, by containerd's own client and
// the same mirrors, and nothing else.
func TestPinStep(t *testing.T) {
	f, m := newFake(t)
	const ctr = BinDir + "/ctr --address " + CRISocket + " --namespace k8s.io images "
	pinned := "registry.k8s.io/pause:3.10.1\n"
	f.answers[ctr+`list --quiet labels."io.cri-containerd.pinned"==pinned`] = func(host.Cmd) ([]byte, error) { return []byte(pinned), nil }
	f.answers[ctr+"label"] = func(c host.Cmd) ([]byte, error) {
		pinned += c.Args[len(c.Args)-2] + "\n"
		return nil, nil
	}
	s := PinStep(m, []string{"registry.k8s.io/pause:3.10.1", "ghcr.io/flannel-io/flannel:v0.28.4"})
	mustHold(t, s.Done, false)
	changes, err := s.Plan(t.Context())
	if err != nil || strings.Join(changes, "; ") != "pull and pin ghcr.io/flannel-io/flannel:v0.28.4" {
		t.Errorf("plan: %q, %v", changes, err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s.Done, true)
	if f.ran(ctr+"pull --hosts-dir /etc/containerd/certs.d ghcr.io/flannel-io/flannel:v0.28.4") != 1 || f.ran(ctr+"pull") != 1 || f.ran(ctr+"label") != 1 {
		t.Errorf("ran %q", f.calls)
	}
	pinned = ""
	f.fails(ctr+"pull", 1, "not found")
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "pull registry.k8s.io/pause:3.10.1") {
		t.Errorf("got %v", err)
	}
}

// TestPinsByLabel: from 2.0 on containerd's configuration says it.
func TestPinsByLabel(t *testing.T) {
	for version, want := range map[string]bool{"1.7.35": true, "2.0.10": false, "2.3.7": false} {
		if got := (Runtime{Version: version}).PinsByLabel(); got != want {
			t.Errorf("containerd %s: %t", version, got)
		}
	}
}
