package kubeadm

import (
	"context"
	"errors"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// agreedDump is what a containerd says that uses systemd's driver and our mirrors.
const agreedDump = `version = 4
[plugins.'io.containerd.cri.v1.images'.registry]
config_path = '/etc/containerd/certs.d'
[plugins.'io.containerd.cri.v1.runtime'.containerd]
default_runtime_name = 'runc'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = true
`

// TestAgreementHeals: a kubelet's file that somebody changed is the cluster's again.
func TestAgreementHeals(t *testing.T) {
	f, m := newFake(t)
	f.put(t, kubeletConfig, "healthzPort: 0\ncgroupDriver: cgroupfs\n")
	f.answers[BinDir+"/containerd"] = func(host.Cmd) ([]byte, error) { return []byte(agreedDump), nil }
	f.answers["kubeadm upgrade node phase kubelet-config"] = func(host.Cmd) ([]byte, error) {
		f.put(t, kubeletConfig, "healthzPort: 0\ncgroupDriver: systemd\n")
		return nil, nil
	}
	s := AgreementStep(m, func(context.Context) (string, error) { return "", errors.New("connection refused") })
	if changes, err := s.Plan(t.Context()); err != nil || len(changes) != 2 {
		t.Errorf("plan: %q, %v", changes, err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s.Done, true)
	if f.ran("systemctl restart kubelet") != 1 {
		t.Errorf("ran %q", f.calls)
	}
}

// TestAgreementRestarts: the file of a kubelet that was put right does nothing for the one
// that runs.
func TestAgreementRestarts(t *testing.T) {
	f, m := newFake(t)
	f.put(t, kubeletConfig, "healthzPort: 0\ncgroupDriver: systemd\n")
	f.answers[BinDir+"/containerd"] = func(host.Cmd) ([]byte, error) { return []byte(agreedDump), nil }
	runs := "cgroupfs"
	f.answers["systemctl restart kubelet"] = func(host.Cmd) ([]byte, error) { runs = "systemd"; return nil, nil }
	s := AgreementStep(m, func(context.Context) (string, error) { return runs, nil })
	mustHold(t, s.Done, false)
	if changes, err := s.Plan(t.Context()); err != nil || len(changes) != 1 || changes[0] != "restart kubelet.service" {
		t.Errorf("plan: %q, %v", changes, err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s.Done, true)
}
