package leave

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/kubeadm/etcd"
)

// TestNotesOfSeveralNodes: the notes are about the cluster after the removal of all nodes of a run.
func TestNotesOfSeveralNodes(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		list := corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}}
		for _, name := range []string{"cp1", "w1", "w2"} {
			n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if name == "cp1" {
				n.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
			}
			list.Items = append(list.Items, n)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}))
	defer api.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: api.URL})
	require.NoError(t, err)
	node := func(name string, members int) *NodeRemoval {
		return &NodeRemoval{Name: name, Own: make([]etcd.Member, members), client: client, voters: 5}
	}
	for name, c := range map[string]struct {
		first *NodeRemoval
		with  []*NodeRemoval
		want  []string
	}{
		"one worker":         {node("w1", 0), nil, nil},
		"all workers":        {node("w1", 0), []*NodeRemoval{node("w2", 0)}, []string{"no other node accepts pods: the pods of w[1-2] cannot run anywhere else"}},
		"one control plane":  {node("cp2", 1), nil, []string{"etcd will have 4 members and can lose 1 of them; use 1, 3 or 5 members"}},
		"two control planes": {node("w1", 0), []*NodeRemoval{node("cp2", 1), node("cp3", 1)}, []string{"etcd will have 3 members and can lose 1 of them; use 1, 3 or 5 members"}},
	} {
		got, err := c.first.Notes(t.Context(), c.with...)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, got, name)
	}
}
