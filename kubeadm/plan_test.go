package kubeadm

import (
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
)

func TestPlanOfNode(t *testing.T) {
	f, m := newFake(t)
	s := initStep(t, m)
	init := "kubeadm init: Kubernetes v1.36.3, API server at 192.0.2.11:6443"
	hosttest.WantPlan(t, f, s, "write "+leave.ConfigFile+" (new)", "enable kubelet.service", init)
	f.Put(t, node.StateFile, "began\n")
	hosttest.WantPlan(t, f, s, "write "+leave.ConfigFile+" (new)", "kubeadm reset: undo the interrupted init", init)
	f.Put(t, node.StateFile, "ended\n")
	hosttest.WantPlan(t, f, s, "enable and start kubelet.service, and wait for the node")

	f, m = newFake(t)
	join := Join(m, section(t, `version: 1.36.3`), Node{Name: "w1"}, jointoken.JoinMaterial{APIServer: "192.0.2.11:6443"}, nil)
	hosttest.WantPlan(t, f, join, "enable kubelet.service", "kubeadm join: node w1, API server at 192.0.2.11:6443")
	f.Put(t, kube.AdminConf, "theirs")
	if _, err := join.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "already belongs to a cluster") {
		t.Errorf("on a node of another cluster: %v", err)
	}
}
