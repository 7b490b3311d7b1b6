package nodesteps

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/verify/apitest"
)

// TestSystemOf: without airgap.yaml the cluster itself says which network it has.
func TestSystemOf(t *testing.T) {
	client := apitest.Start(t).Client(t)
	s, err := SystemOf(t.Context(), client, nil)
	if err != nil || !slices.Equal(s.Namespaces, []string{"airgap-system", "kube-flannel", "kube-system"}) || !slices.Contains(s.Workloads, "DaemonSet kube-flannel/kube-flannel-ds") {
		t.Errorf("an empty cluster: %+v, %v", s, err)
	}
	var node appsv1.DaemonSet
	if err := yaml.Unmarshal(
		[]byte(`{metadata: {name: calico-node}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`),
		&node,
	); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{}); err != nil {
		if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.AppsV1().DaemonSets("kube-system").Create(t.Context(), &node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s, err = SystemOf(t.Context(), client, nil)
	if err != nil || !slices.Equal(s.Namespaces, []string{"airgap-system", "kube-system"}) || !slices.Contains(s.Workloads, "DaemonSet kube-system/calico-node") {
		t.Errorf("one with calico: %+v, %v", s, err)
	}
}
