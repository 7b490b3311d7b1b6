package kubeadm

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/runtime"
)

func TestPermissions(t *testing.T) {
	f, m := newFake(t)
	c := section(t, `version: 1.36.3`)
	s := Permissions(m, c)
	hosttest.MustHold(t, s.Done, true) // nothing there, nothing open
	unit := "/usr/lib/systemd/system/kubelet.service"
	for _, name := range []string{ClusterCA, runtime.KubeletConfig, unit} {
		f.Put(t, name, "x")
	}
	f.Put(t, "/etc/cni/net.d/README", "podman's") // none of ours
	hosttest.MustHold(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustHold(t, s.Done, true)
	if mode(t, f, ClusterCA) != 0o600 || mode(t, f, unit) != 0o600 || mode(t, f, "/etc/cni/net.d/README") != 0o644 {
		t.Errorf("modes are %o, %o, %o", mode(t, f, ClusterCA), mode(t, f, unit), mode(t, f, "/etc/cni/net.d/README"))
	}
	if closed, err := ClosedFiles(m); err != nil || !slices.Equal(closed, []string{ClusterCA, unit, runtime.KubeletConfig}) {
		t.Errorf("closed %v, %v", closed, err)
	}

	// A package brings its own mode back: it is closed again, and what the
	// host had first is still known.
	if err := os.Chmod(filepath.Join(f.Root, unit), 0o664); err != nil {
		t.Fatal(err)
	}
	hosttest.MustHold(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(f.Root, ClusterCA)); err != nil { // kubeadm reset
		t.Fatal(err)
	}
	if err := s.Undo(t.Context()); err != nil || mode(t, f, unit) != 0o644 || f.Has(modesUndo) {
		t.Errorf("undo: %v; the unit's mode is %o", err, mode(t, f, unit))
	}
}
