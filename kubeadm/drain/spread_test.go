package drain

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/verify/apitest"
)

// TestSpreadDNS asks a real API server where the pods of CoreDNS are.
func TestSpreadDNS(t *testing.T) {
	client := apitest.Start(t).Client(t)
	if pods, err := hostedDNS(t.Context(), client); err != nil || crowded(pods) != nil {
		t.Errorf("no pods at all: %v, %v", pods, err)
	}
	dnsPod(t, client, "a", "cp1")
	if pods, err := hostedDNS(t.Context(), client); err != nil || len(pods) != 1 || crowded(pods) != nil {
		t.Errorf("one pod: %v, %v", pods, err)
	}
	dnsPod(t, client, "b", "cp1")
	dnsPod(t, client, "waiting", "")
	if pods, err := hostedDNS(t.Context(), client); err != nil || len(pods) != 2 || crowded(pods) == nil {
		t.Errorf("two pods on one host, and one without: %d, %v", len(pods), err)
	}
	dnsPod(t, client, "c", "cp2")
	if pods, err := hostedDNS(t.Context(), client); err != nil || crowded(pods) != nil {
		t.Errorf("spread: %v, %v", crowded(pods), err)
	}

	if err := twoReady(t.Context(), client); err == nil {
		t.Error("no node counted as two")
	}
	for _, name := range []string{"cp1", "cp2"} {
		node, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := twoReady(t.Context(), client); err == nil {
			t.Errorf("with %s not ready yet there are not two", name)
		}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if _, err := client.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := twoReady(t.Context(), client); err != nil {
		t.Error(err)
	}
}

func dnsPod(t *testing.T, client kubernetes.Interface, name, node string) {
	t.Helper()
	_, err := client.CoreV1().Pods(metav1.NamespaceSystem).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"k8s-app": "kube-dns"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "coredns", Image: "coredns"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
