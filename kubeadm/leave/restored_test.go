package leave

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/verify/apitest"
)

// revisionOf is the revision of a snapshot that is taken now.
func revisionOf(t *testing.T, client kubernetes.Interface) int64 {
	t.Helper()
	list, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	hosttest.Must(err)
	n, err := strconv.ParseInt(list.ResourceVersion, 10, 64)
	hosttest.Must(err)
	return n
}

func addNode(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	node, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	hosttest.Must(err)
	setReady(t, client, node, corev1.ConditionTrue)
	_, err = client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	hosttest.Must(err)
}

func setReady(t *testing.T, client kubernetes.Interface, node *corev1.Node, status corev1.ConditionStatus) {
	t.Helper()
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	_, err := client.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	hosttest.Must(err)
}

// TestLost: a node with a new heartbeat is not lost. A node without one is lost when its condition
// is no longer Ready.
func TestLost(t *testing.T) {
	client := apitest.Start(t).Client(t)
	_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: corev1.NamespaceNodeLease}}, metav1.CreateOptions{})
	if err != nil && !strings.Contains(err.Error(), "already exists") {
		t.Fatal(err)
	}
	for _, name := range []string{"back", "gone", "gone-too"} {
		addNode(t, client, name)
	}
	revision := revisionOf(t, client)
	lease, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), "back", metav1.GetOptions{})
	hosttest.Must(err)
	now := metav1.NowMicro()
	lease.Spec.RenewTime = &now
	_, err = client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Update(t.Context(), lease, metav1.UpdateOptions{})
	hosttest.Must(err)

	brief, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if lost, err := LostNodes(brief, client, revision); err == nil || !strings.Contains(err.Error(), "no heartbeat of gone, gone-too since the restore") {
		t.Errorf("while the nodes are Ready: got %v, %v, want an error", lost, err)
	}
	for _, name := range []string{"gone", "gone-too"} {
		node, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		hosttest.Must(err)
		setReady(t, client, node, corev1.ConditionUnknown)
	}
	lost, err := LostNodes(t.Context(), client, revision)
	if err != nil || !slices.Equal(lost, []string{"gone", "gone-too"}) {
		t.Errorf("got lost nodes %v, %v, want gone and gone-too", lost, err)
	}
}

// TestRevokeOld: only the join tokens from before the snapshot are deleted, not later tokens and
// other Secrets.
func TestRevokeOld(t *testing.T) {
	client := apitest.Start(t).Client(t)
	old, _, err := jointoken.Issue(t.Context(), client, jointoken.JoinMaterial{CA: kubetest.NewAPI(t).CA()}, "w1", nil)
	hosttest.Must(err)
	_, err = client.CoreV1().Secrets(metav1.NamespaceSystem).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{})
	hosttest.Must(err)
	revision := revisionOf(t, client)
	fresh, _, err := jointoken.Issue(t.Context(), client, jointoken.JoinMaterial{CA: kubetest.NewAPI(t).CA()}, "w1", nil)
	hosttest.Must(err)
	for range 2 {
		hosttest.Must(revokeOld(t.Context(), client, revision))
	}
	left, err := client.CoreV1().Secrets(metav1.NamespaceSystem).List(t.Context(), metav1.ListOptions{})
	hosttest.Must(err)
	var names []string
	for _, s := range left.Items {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	want := []string{jointoken.TokenName(fresh.ID), "other"}
	slices.Sort(want)
	if !slices.Equal(names, want) || slices.Contains(names, jointoken.TokenName(old.ID)) {
		t.Errorf("got Secrets %v, want %v", names, want)
	}
}
