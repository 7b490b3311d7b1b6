package kubeadm

import (
	"context"
	"errors"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/runtime"
)

// agreedDump is the configuration dump of a containerd with the systemd driver and airgap's
// mirrors.
const agreedDump = `version = 4
[plugins.'io.containerd.cri.v1.images'.registry]
config_path = '/etc/containerd/certs.d'
[plugins.'io.containerd.cri.v1.runtime'.cni]
conf_dir = '/etc/airgap/cni/net.d'
[plugins.'io.containerd.cri.v1.runtime'.containerd]
default_runtime_name = 'runc'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = true
`

// TestAgreementRestoresFile: the step restores the kubelet's file from the cluster.
func TestAgreementRestoresFile(t *testing.T) {
	f, m := newFake(t)
	f.Put(t, runtime.KubeletConfig, "healthzPort: 0\ncgroupDriver: cgroupfs\n")
	f.Answers[host.BinDir+"/containerd"] = func(host.Cmd) ([]byte, error) { return []byte(agreedDump), nil }
	f.Answers["kubeadm upgrade node phase kubelet-config"] = func(host.Cmd) ([]byte, error) {
		f.Put(t, runtime.KubeletConfig, "healthzPort: 0\ncgroupDriver: systemd\n")
		return nil, nil
	}
	s := AgreementStep(m, func(context.Context) (string, error) { return "", errors.New("connection refused") })
	if changes, err := s.Plan(t.Context()); err != nil || len(changes) != 2 {
		t.Errorf("plan: %q, %v", changes, err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if f.Ran("systemctl restart kubelet") != 1 {
		t.Errorf("ran %q", f.Calls)
	}
}

// TestAgreementRestarts: the step restarts a kubelet that runs with other values than its file.
func TestAgreementRestarts(t *testing.T) {
	f, m := newFake(t)
	f.Put(t, runtime.KubeletConfig, "healthzPort: 0\ncgroupDriver: systemd\n")
	f.Answers[host.BinDir+"/containerd"] = func(host.Cmd) ([]byte, error) { return []byte(agreedDump), nil }
	runs := "cgroupfs"
	f.Answers["systemctl restart kubelet"] = func(host.Cmd) ([]byte, error) { runs = "systemd"; return nil, nil }
	s := AgreementStep(m, func(context.Context) (string, error) { return runs, nil })
	hosttest.MustBeDone(t, s.Done, false)
	if changes, err := s.Plan(t.Context()); err != nil || len(changes) != 1 || changes[0] != "restart kubelet.service" {
		t.Errorf("plan: %q, %v", changes, err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
}
