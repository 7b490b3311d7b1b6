package kubeadm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

func initStep(t *testing.T, m Machine) step.Step {
	return Init(m, section(t, `version: 1.36.3`), Node{Name: "cp1", Address: "192.0.2.11"}, runtime.Facts{OS: "el9", Kernel: "5.14.0", Driver: runtime.Systemd})
}

func TestInit(t *testing.T) {
	f, m := newFake(t)
	a := kubetest.NewAPI(t)
	withKubeadm(t, f, m, a)
	withHost(t, f)
	s := initStep(t, m)
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if f.Ran("kubeadm init --config "+leave.ConfigFile+" --skip-token-print") != 1 || f.Ran("kubeadm reset") != 0 {
		t.Errorf("ran %v", f.Calls)
	}

	// A stopped kubelet is started, and kubeadm does not run again.
	if err := m.Run(t.Context(), "systemctl", "stop", "kubelet"); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if f.Ran("kubeadm") != 1 {
		t.Errorf("kubeadm ran again on a finished node: %v", f.Calls)
	}

	if err := s.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.Has(leave.ConfigFile) || f.Has(node.StateFile) || f.Ran("kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock") != 1 {
		t.Errorf("undo ran %v", f.Calls)
	}
}

func TestInitAfterAnInterruption(t *testing.T) {
	f, m := newFake(t)
	withKubeadm(t, f, m, kubetest.NewAPI(t))
	f.Put(t, node.StateFile, "began\n")
	f.Put(t, "etc/kubernetes/manifests/etcd.yaml", "half")
	s := initStep(t, m)
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	var verbs []string
	for _, c := range f.Calls {
		if strings.HasPrefix(c, "kubeadm") {
			verbs = append(verbs, strings.Fields(c)[1])
		}
	}
	if strings.Join(verbs, " ") != "reset init" {
		t.Errorf("kubeadm ran %v, want reset, then init", verbs)
	}
}

func TestInitRefusesAForeignCluster(t *testing.T) {
	for _, file := range []string{kube.AdminConf, "/etc/kubernetes/manifests/etcd.yaml", kube.ClusterCA, "/var/lib/etcd/member/wal"} {
		f, m := newFake(t)
		f.Put(t, file, "theirs")
		err := initStep(t, m).Run(t.Context())
		var failure *host.Failure
		if !errors.As(err, &failure) || f.Ran("kubeadm") != 0 || f.Has(node.StateFile) {
			t.Errorf("with %s: got %v, ran %v, want a failure before kubeadm", file, err, f.Calls)
		}
	}
}

// TestInitNeverResetsAFinishedNode: a control plane that does not answer still has data.
func TestInitNeverResetsAFinishedNode(t *testing.T) {
	f, m := newFake(t)
	a := kubetest.NewAPI(t)
	withKubeadm(t, f, m, a)
	s := initStep(t, m)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.Up.Store(false)
	hosttest.MustBeDone(t, s.Done, false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := s.Run(ctx); err == nil {
		t.Error("with a dead API server: got no error, want one")
	}
	if f.Ran("kubeadm") != 1 {
		t.Errorf("ran %v, want kubeadm once", f.Calls)
	}
	a.Up.Store(true)
	a.Version = "v1.36.2"
	if err := m.controlPlaneReady(t.Context(), "v1.36.3"); err == nil || !strings.Contains(err.Error(), "the API server is v1.36.2") {
		t.Errorf("got %v", err)
	}
}

// TestInitRequiresAHealthyKubelet: a kubelet that systemd restarts periodically is active each
// time, but not healthy.
func TestInitRequiresAHealthyKubelet(t *testing.T) {
	f, m := newFake(t)
	unhealthy := withKubeadm(t, f, m, kubetest.NewAPI(t))
	s := initStep(t, m)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	unhealthy.Store(true)
	hosttest.MustBeDone(t, s.Done, false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := s.Run(ctx); err == nil {
		t.Error("with an unhealthy kubelet: got no error, want one")
	}
	unhealthy.Store(false)
	hosttest.MustBeDone(t, s.Done, true)
}

func TestInitExplainsPreflight(t *testing.T) {
	f, m := newFake(t)
	f.Fails("kubeadm init", 1, "[preflight] Some fatal errors occurred:\n"+
		"\t[ERROR Port-6443]: Port 6443 is in use\n"+
		"\t[ERROR Swap]: swap is enabled\n"+
		"[preflight] If you know what you are doing, you can make a check non-fatal")
	err := initStep(t, m).Run(t.Context())
	var failure *host.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("got %v", err)
	}
	for _, words := range []string{"kubeadm init", "[ERROR Port-6443]: Port 6443 is in use", "[ERROR Swap]", "/var/log/airgap/kubeadm-init.log"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("got %q, want it to contain %q", err, words)
		}
	}
	if strings.Contains(err.Error(), "If you know") || failure.Hint() == "" {
		t.Errorf("got %q with hint %q", err, failure.Hint())
	}
}
