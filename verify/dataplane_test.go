package verify

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/dataplane"
)

func TestDataPlane(t *testing.T) {
	localTime := func(p *corev1.Pod) { p.Labels = map[string]string{dataplane.LabelName: dataplane.Name} }
	says := func(status corev1.ConditionStatus, message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: dataplane.Condition, Status: status, Message: message})
		}
	}
	on := func(node string, changes ...func(*corev1.Pod)) metav1.Object {
		return pod(dataplane.Namespace, "data-plane-"+node, node, append(changes, localTime)...)
	}
	answered := says(corev1.ConditionTrue, "")
	deleting := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }
	pending := func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }
	for _, test := range []struct {
		name    string
		objects []metav1.Object
		want    []Finding
	}{
		{"everything answers", []metav1.Object{on("cp1", answered), on("w1", answered)}, nil},
		{"no such pods", nil, nil},
		{"nothing reported yet", []metav1.Object{on("cp1", answered), on("w1")},
			[]Finding{{Object: "Pod airgap-system/data-plane-w1", Saw: "it has not reported yet which connections work from w1"}}},
		{"checked by other rules", []metav1.Object{on("cp1", answered), on("w1", deleting), on("w2", pending), pod(dataplane.Namespace, "another", "w3")}, nil},
		{"it is not ready, its last report may be old", []metav1.Object{on("cp1", answered), on("w1", unready("ContainersNotReady", "probe"), says(corev1.ConditionFalse, "pod on cp1: no answer"))}, nil},
		{"one node cannot be reached", []metav1.Object{
			on("w4", says(corev1.ConditionFalse, "pod on w1: no answer")), on("cp1", says(corev1.ConditionFalse, "pod on w1: no answer")),
			on("w2", says(corev1.ConditionFalse, "pod on w1: no answer")), on("w3", says(corev1.ConditionFalse, "pod on w1: no answer\nname kubernetes.default.svc: no such name")), on("w1", answered)},
			[]Finding{{Object: "pod on w1", Saw: "no answer from cp1, w2, w3 and 1 more"}, {Object: "name kubernetes.default.svc", Saw: "no such name from w3"}}},
		{"one bad link", []metav1.Object{on("w1", says(corev1.ConditionFalse, "flows to w2: 5 of 16 TCP flows are lost, on the same source ports each time")),
			on("w3", says(corev1.ConditionFalse, "flows to w2: 7 of 16 TCP flows are lost, on the same source ports each time"))},
			[]Finding{{Object: "flows to w2", Saw: "from w1: 5 of 16 TCP flows are lost, on the same source ports each time; from w3: 7 of 16 TCP flows are lost, on the same source ports each time"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantSaw(t, judgeDataPlane(seen(t, test.objects...)), test.want...)
		})
	}
}
