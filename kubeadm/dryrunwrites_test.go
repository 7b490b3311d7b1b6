package kubeadm

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/verify/apitest"
)

// TestDryRunWritesAreValid: a real API server accepts each object, and persists none.
func TestDryRunWritesAreValid(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(apitest.Start(t).Config)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}} // no controller creates it
	_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceSystem).Create(t.Context(), account, metav1.CreateOptions{})
	require.NoError(t, err)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp1"}}
	_, err = client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	require.NoError(t, err)

	require.NoError(t, DryRunWrites(t.Context(), client, Config{}, "cp1"))

	pods, err := client.CoreV1().Pods(metav1.NamespaceSystem).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, pods.Items)
	jobs, err := client.BatchV1().Jobs(metav1.NamespaceSystem).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, jobs.Items)
	node, err = client.CoreV1().Nodes().Get(t.Context(), "cp1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, node.Annotations)
}
