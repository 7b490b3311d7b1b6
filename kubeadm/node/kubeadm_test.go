package node

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
	for code, want := range map[string]State{"0": Ended, "1": Began} {
		if err := os.WriteFile(filepath.Join(bin, "kubeadm"), []byte("#!/bin/sh\ntest \"$*\" = 'init --config a b' && exit "+code+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		m := host.Machine{Host: host.Local{}, Root: t.TempDir()}
		if err := SetState(m, Began); err != nil {
			t.Fatal(err)
		}
		err := Kubeadm(t.Context(), m, Noting(m, Ended), nil, "init", "--config", "a b")
		if got, stateErr := StateOf(m); got != want || stateErr != nil || (err == nil) != (code == "0") {
			t.Errorf("kubeadm exits with %s: state %q, %v, %v; want %q", code, got, stateErr, err, want)
		}
		if left, _ := filepath.Glob(m.Path(host.StateDir + "/.*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}
