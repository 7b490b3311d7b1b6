package verify

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

// TestMarkLeftOut: findings that are only about hosts that the caller leaves out do not decide.
func TestMarkLeftOut(t *testing.T) {
	notReady := unready("NodeNotReady", "")
	w8, w9 := node("w8", corev1.ConditionTrue), node("w9", corev1.ConditionUnknown)
	v := seen(t, w8, w9,
		daemonSet("kube-proxy", 2), pod("kube-system", "kube-proxy-8", "w8", ownedBy("kube-proxy")), pod("kube-system", "kube-proxy-9", "w9", ownedBy("kube-proxy"), notReady),
		daemonSet("agent", 2), pod("kube-system", "agent-8", "w8", ownedBy("agent"), notReady), pod("kube-system", "agent-9", "w9", ownedBy("agent"), notReady),
		daemonSet("well", 2), pod("kube-system", "well-8", "w8", ownedBy("well")), pod("kube-system", "well-9", "w9", ownedBy("well")),
	)
	for object, known := range map[string]bool{
		"Node w9":                               true,
		"Node w9, /etc/kubernetes/kubelet.conf": true,
		"Node w8":                               false,
		"Node w99":                              false,
		"Pod kube-system/kube-proxy-9":          true,
		"Pod kube-system/kube-proxy-8":          false,
		"Pod kube-system/gone":                  false,
		"DaemonSet kube-system/kube-proxy":      true,
		"DaemonSet kube-system/agent":           false, // its pod on w8 is not ready either
		"DaemonSet kube-system/well":            false, // no pod says why
		"DaemonSet kube-system/gone":            false,
		"Deployment kube-system/coredns":        false,
		"API server":                            false,
		"":                                      false,
	} {
		findings := []Finding{{Object: object}}
		markLeftOut([]string{"w9"}, v, findings)
		assert.Equal(t, known, findings[0].Known, object)
		findings[0].Known = false
		markLeftOut(nil, v, findings)
		assert.False(t, findings[0].Known, object)
	}
}
