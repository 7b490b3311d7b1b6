package kubeadm

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/runtime"
)

func TestPermissions(t *testing.T) {
	f, m := newFake(t)
	c := section(t, `version: 1.36.3`)
	s := Permissions(m, c)
	hosttest.MustBeDone(t, s.Done, true) // no files yet
	unit := "/usr/lib/systemd/system/kubelet.service"
	for _, name := range []string{kube.ClusterCA, runtime.KubeletConfig, unit} {
		f.Put(t, name, "x")
	}
	f.Put(t, "/etc/cni/net.d/README", "podman's") // not a file of the cluster
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if kubetest.Mode(t, f, kube.ClusterCA) != 0o600 || kubetest.Mode(t, f, unit) != 0o600 || kubetest.Mode(t, f, "/etc/cni/net.d/README") != 0o644 {
		t.Errorf("modes are %o, %o, %o", kubetest.Mode(t, f, kube.ClusterCA), kubetest.Mode(t, f, unit), kubetest.Mode(t, f, "/etc/cni/net.d/README"))
	}
	if closed, err := ClosedFiles(m); err != nil || !slices.Equal(closed, []string{kube.ClusterCA, unit, runtime.KubeletConfig}) {
		t.Errorf("got closed files %v, %v", closed, err)
	}

	// A package update sets its own mode again: the step closes the file again and keeps the
	// original mode.
	if err := os.Chmod(filepath.Join(f.Root, unit), 0o664); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(f.Root, kube.ClusterCA)); err != nil { // kubeadm reset
		t.Fatal(err)
	}
	if err := s.Undo(t.Context()); err != nil || kubetest.Mode(t, f, unit) != 0o644 || f.Has(modesUndo) {
		t.Errorf("undo: %v; the unit's mode is %o", err, kubetest.Mode(t, f, unit))
	}
}
