package kubeadm

import (
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
)

func TestPlanOfNode(t *testing.T) {
	f, m := newFake(t)
	s := initStep(t, m)
	init := "kubeadm init: Kubernetes v1.36.3, API server at 192.0.2.11:6443"
	hosttest.WantPlan(t, f, s, "write "+ConfigFile+" (new)", "enable kubelet.service", init)
	f.Put(t, stateFile, "began\n")
	hosttest.WantPlan(t, f, s, "write "+ConfigFile+" (new)", "kubeadm reset: takes back the interrupted init", init)
	f.Put(t, stateFile, "ended\n")
	hosttest.WantPlan(t, f, s, "enable and start kubelet.service, and wait for the node")

	f, m = newFake(t)
	join := Join(m, section(t, `version: 1.36.3`), Node{Name: "w1"}, JoinMaterial{APIServer: "192.0.2.11:6443"}, nil)
	hosttest.WantPlan(t, f, join, "enable kubelet.service", "kubeadm join: node w1, API server at 192.0.2.11:6443")
	f.Put(t, AdminConf, "theirs")
	if _, err := join.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "already belongs to a cluster") {
		t.Errorf("on a node of another cluster: %v", err)
	}
}
