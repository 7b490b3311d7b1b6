package leave

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/kubeadm/drain"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/verify/apitest"
)

// nodeLike creates a node with this status of its Ready condition; "" creates it without.
func nodeLike(t *testing.T, client kubernetes.Interface, name string, ready corev1.ConditionStatus) *corev1.Node {
	t.Helper()
	node, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if ready == "" {
		return node
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(time.Unix(0, 0))}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.99"}}
	if node, err = client.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return node
}

func TestDeparture(t *testing.T) {
	client := apitest.Start(t).Client(t)
	departing := func(name string, ready corev1.ConditionStatus, own ...etcd.Member) *NodeRemoval {
		d := &NodeRemoval{Name: name, Node: nodeLike(t, client, name, ready), Own: own, client: client}
		d.Silent = d.silence()
		return d
	}
	failed := etcd.Member{Name: "x", Err: errors.New("no answer")}
	for name, tc := range map[string]struct {
		ready     corev1.ConditionStatus
		own       []etcd.Member
		dead      bool
		plain     string // error of Allowed; "" is none
		withForce string
	}{
		"ready":                {corev1.ConditionTrue, nil, false, "", "this one answers"},
		"not-ready":            {corev1.ConditionFalse, nil, false, "", "this one answers"},
		"silent":               {corev1.ConditionUnknown, nil, true, "not reported since 1970-01-01", ""},
		"never":                {"", nil, true, "never reported", ""},
		"silent-control-plane": {corev1.ConditionUnknown, []etcd.Member{failed}, true, "etcd member: no answer", ""},
		"only-etcd-answers":    {corev1.ConditionUnknown, []etcd.Member{{Name: "x"}}, false, "", "this one answers"},
	} {
		d := departing(name, tc.ready, tc.own...)
		if (d.Silent != nil) != tc.dead {
			t.Errorf("%s: got Silent %v, want dead %v", name, d.Silent, tc.dead)
		}
		d.Own = nil // other tests check the quorum
		for force, want := range map[bool]string{false: tc.plain, true: tc.withForce} {
			if err := d.Allowed(t.Context(), force); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, force %v: got %v, want %q", name, force, err, want)
			}
		}
	}
}

// TestDepartureContinues: a node that was drained and reset can be removed without force, unless it
// accepts pods again.
func TestDepartureContinues(t *testing.T) {
	client := apitest.Start(t).Client(t)
	nodeLike(t, client, "w1", corev1.ConditionTrue)
	look := func() *NodeRemoval {
		t.Helper()
		node, err := client.CoreV1().Nodes().Get(t.Context(), "w1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		d := &NodeRemoval{Name: "w1", Node: node, client: client}
		d.Silent = d.silence()
		return d
	}
	if err := look().Drain(t.Context(), drain.Options{}); err != nil {
		t.Fatal(err)
	}
	if d := look(); d.Drained() {
		t.Error("a node that reports counts as drained, want it to be drained again")
	}
	node := look().Node
	node.Status.Conditions[0].Status = corev1.ConditionUnknown
	if _, err := client.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if d := look(); !d.Drained() || d.Allowed(t.Context(), false) != nil {
		t.Errorf("interrupted removal: got drained %v, %v, want it to continue", d.Drained(), d.Allowed(t.Context(), false))
	}
	if err := drain.Uncordon(t.Context(), client, "w1"); err != nil {
		t.Fatal(err)
	}
	if d := look(); d.Drained() || d.Allowed(t.Context(), false) == nil {
		t.Error("a node that accepts pods again counts as drained")
	}

	code, _, err := jointoken.Issue(t.Context(), client, jointoken.JoinMaterial{CA: kubetest.NewAPI(t).CA()}, "w1", nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := jointoken.Issue(t.Context(), client, jointoken.JoinMaterial{CA: kubetest.NewAPI(t).CA()}, "w2", nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second run finds nothing to remove
		if err := (&NodeRemoval{Name: "w1", client: client}).Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.CoreV1().Nodes().Get(t.Context(), "w1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v for its Node, want it deleted", err)
	}
	for c, gone := range map[jointoken.JoinToken]bool{code: true, other: false} {
		if _, err := client.CoreV1().Secrets(metav1.NamespaceSystem).Get(t.Context(), jointoken.TokenName(c.ID), metav1.GetOptions{}); apierrors.IsNotFound(err) != gone {
			t.Errorf("code %s: got %v, want deleted %v", c, err, gone)
		}
	}
	wantRemoved(t, client, "w1")
	if err := errors.Join(NoteRemoved(t.Context(), client, "w0"), Readmit(t.Context(), client, "w1"), Readmit(t.Context(), client, "w7")); err != nil {
		t.Fatal(err)
	}
	wantRemoved(t, client, "w0")
}

func wantRemoved(t *testing.T, client kubernetes.Interface, want ...string) {
	t.Helper()
	if got, err := Removed(t.Context(), client); err != nil || !slices.Equal(got, want) {
		t.Errorf("got removed nodes %v, %v, want %v", got, err, want)
	}
}
