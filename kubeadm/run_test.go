package kubeadm

import (
	"os"
	"path/filepath"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// TestNoting runs a stand-in for kubeadm by a real flock and a real shell, as a
// killed airgap leaves them: the state is written without it, but only when
// kubeadm came back fine.
func TestNoting(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for code, want := range map[string]state{"0": ended, "1": began} {
		if err := os.WriteFile(filepath.Join(bin, "kubeadm"), []byte("#!/bin/sh\ntest \"$*\" = 'init --config a b' && exit "+code+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		m := Machine{Machine: host.Machine{Host: host.Local{}, Root: t.TempDir()}}
		if err := m.setState(began); err != nil {
			t.Fatal(err)
		}
		err := m.kubeadm(t.Context(), m.noting(ended), nil, "init", "--config", "a b")
		if got, stateErr := m.state(); got != want || stateErr != nil || (err == nil) != (code == "0") {
			t.Errorf("kubeadm exits with %s: state %q, %v, %v; want %q", code, got, stateErr, err, want)
		}
		if left, _ := filepath.Glob(m.Path(host.StateDir + "/.*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}
