package verify

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// TestAbsentNode: an absent node that joined earlier and is not Ready breaks no rule, and no rule waits for its report. While
// it is Ready, it is judged. A node that is not declared absent fails.
func TestAbsentNode(t *testing.T) {
	down := func(w *healthyCluster) {
		long := time.Now().Add(-24 * time.Hour)
		w.host("w2")
		w.objects["Node w2"] = node("w2", corev1.ConditionUnknown)
		w.objects["Lease w2"] = lease(corev1.NamespaceNodeLease, "w2", long)
		unready("NodeNotReady", "")(w.objects["Pod data-plane w2"].(*corev1.Pod))
		d := w.objects["DaemonSet data-plane"].(*appsv1.DaemonSet)
		d.Status.DesiredNumberScheduled, d.Status.CurrentNumberScheduled, d.Status.UpdatedNumberScheduled, d.Status.NumberAvailable = 3, 3, 3, 2
		w.reports["w2"].Heartbeat = metav1.NewMicroTime(long)
		w.beats = w.beats[:2] // of the other two
	}
	back := func(w *healthyCluster) {
		w.host("w2")
		w.objects["Node w2"].(*corev1.Node).Spec.Unschedulable = true
	}
	for name, tc := range map[string]struct {
		is     func(*healthyCluster)
		absent []string
		broken string // a rule; "": none is broken or unseen
	}{
		"absent":                   {down, []string{"w2"}, ""},
		"not declared absent":      {down, nil, "nodes-ready"},
		"another one is absent":    {down, []string{"w1"}, "nodes-ready"},
		"absent, and Ready again":  {back, []string{"w2"}, "nodes-schedulable"},
		"absent, and never joined": {func(*healthyCluster) {}, []string{"w2"}, ""},
	} {
		w := newHealthyCluster()
		w.options.Absent = tc.absent
		tc.is(w)
		rows, bad := w.judged(t).rows, map[string]string{}
		for id, row := range rows {
			if why := row.blind(); why != "" {
				bad[id] = why
			}
			for _, f := range row.deciding() {
				bad[id] += f.Object + ": " + f.Saw
			}
		}
		if tc.broken == "" {
			assert.Empty(t, bad, name)
			continue
		}
		assert.Contains(t, bad, tc.broken, name)
		assert.Contains(t, bad[tc.broken], "Node w2", name)
	}
}
