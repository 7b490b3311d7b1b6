package nodestate_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/nodestate"
)

func node(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: ready, Reason: "KubeletX"},
	}}}
}

func TestNotReady(t *testing.T) {
	assert.Empty(t, nodestate.NotReady(node("w1", corev1.ConditionTrue)))
	assert.Equal(t, "not Ready: KubeletX", nodestate.NotReady(node("w1", corev1.ConditionFalse)))
	assert.Equal(t, "not reporting: KubeletX", nodestate.NotReady(node("w1", corev1.ConditionUnknown)))
	assert.Equal(t, "its kubelet has never reported", nodestate.NotReady(&corev1.Node{}))
}

// TestAway: only an absent node that is not Ready is away.
func TestAway(t *testing.T) {
	nodes := []*corev1.Node{node("w1", corev1.ConditionUnknown), node("w2", corev1.ConditionUnknown), node("w3", corev1.ConditionTrue)}
	assert.Equal(t, []string{"w2"}, nodestate.Away(nodes, []string{"w2", "w3", "w4"}))
	assert.Empty(t, nodestate.Away(nodes, nil))
}

func TestNamed(t *testing.T) {
	for object, want := range map[string]string{
		"Node w1": "w1", "Node w1, /etc/kubernetes/kubelet.conf": "w1", "NodeReport w1": "w1", "etcd on cp2": "cp2", "pod on w1, 64 KiB": "w1",
		"NodePort 30412 of w1": "w1", "Registry 192.0.2.1:5000 from w1": "w1", "API server": "", "API server on cp1": "cp1", "etcd": "", "": "",
		"Pod kube-system/w1": "", "Service w1": "", "Cluster": "",
	} {
		assert.Equal(t, want, nodestate.Named(object), object)
	}
}
