package upgrade

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/remote"
)

// holds puts a pod on a node that its PodDisruptionBudget holds there.
func (w *world) holds(name string) {
	w.t.Helper()
	discovery, is := w.client.Discovery().(*fake.FakeDiscovery)
	require.True(w.t, is)
	discovery.Resources = []*metav1.APIResourceList{
		{GroupVersion: "policy/v1"},
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods/eviction", Kind: "Eviction", Group: "policy", Version: "v1"}}},
	}
	yes := true
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: &yes}}},
		Spec:       corev1.PodSpec{NodeName: name}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	w.client.PrependReactor("list", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		list := &corev1.PodList{}
		if fields := a.(clienttesting.ListAction).GetListRestrictions().Fields; fields.Empty() || strings.HasSuffix(fields.String(), "="+name) {
			list.Items = append(list.Items, pod)
		}
		return true, list, nil
	})
	w.client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return a.GetSubresource() == "eviction", nil, apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	})
}

// TestDrainTimesOut: a worker whose pods do not leave in time takes pods again, and is owed. The others go on.
func TestDrainTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		w.holds("w3")
		o := Pace{Batch: "3"}
		o.Choice.MaxFailures = 1
		_, err := w.run(t.Context(), o)
		require.ErrorContains(t, err, "w3: drain node w3: after 1m0s not all pods are gone\n")
		assert.ErrorContains(t, err, "pod shop/web")
		assert.Equal(t, []string{"w1", "w2", "w4", "w5", "w6", "w7"}, w.upgraded())
		assert.Empty(t, w.isCordoned())
		assert.Contains(t, w.owes()["w3"], "drain node w3: after 1m0s not all pods are gone")
	})
}

// TestGiveBack: a worker that failed takes pods again only if its kubelet works and airgap is not at work there.
func TestGiveBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := errors.New("no space left")
		for name, tc := range map[string]struct {
			change   func(*world, *upgrade)
			failure  error
			cordoned bool
			says     string
		}{
			"its kubelet works":      {func(*world, *upgrade) {}, failure, false, "w1 is uncordoned: its kubelet works"},
			"its kubelet has ended":  {func(w *world, _ *upgrade) { w.dead["w1"] = true }, failure, true, "w1 stays cordoned: its kubelet does not work"},
			"the connection is lost": {func(*world, *upgrade) {}, fmt.Errorf("run airgap: %w", remote.ErrLost), true, "w1 stays cordoned: the connection was lost"},
			"it was cordoned before": {func(_ *world, u *upgrade) { u.record.Cordoned = []string{"w1"} }, failure, true, ""},
		} {
			w := newWorld(t, few)
			u, _ := w.begin(Pace{})
			require.NoError(t, u.drain(t.Context(), config.Node{Name: "w1"}, false))
			tc.change(w, u)
			assert.Equal(t, tc.failure, u.giveBack(t.Context(), config.Node{Name: "w1"}, tc.failure), name)
			node, err := w.client.CoreV1().Nodes().Get(t.Context(), "w1", metav1.GetOptions{})
			require.NoError(t, err)
			assert.Equal(t, tc.cordoned, node.Spec.Unschedulable, name)
			assert.Equal(t, tc.cordoned, site.Noted(node, site.UpgradeNote, target) == nil, "%s: its turn", name)
			assert.Contains(t, strings.Join(w.said.Said, "\n"), tc.says, name)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w := newWorld(t, few)
		u, _ := w.begin(Pace{})
		require.NoError(t, u.drain(t.Context(), config.Node{Name: "w1"}, false))
		assert.Equal(t, failure, u.giveBack(ctx, config.Node{Name: "w1"}, failure))
		assert.Equal(t, []string{"w1"}, w.isCordoned(), "an interrupted run stops at once")
	})
}
