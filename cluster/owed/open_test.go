package owed_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
)

// TestOpen: a debt ends with the bundle on the node, also if the node joined by hand, and with the removal of the node.
func TestOpen(t *testing.T) {
	s := &site.Site{Index: bundletest.New(t).Open(t).Index(), Config: &config.Cluster{Nodes: []config.Node{
		{Name: "joined"}, {Name: "old"}, {Name: "missing"}, {Name: "back"}, {Name: "away", Absent: &config.Absent{Reason: "sold"}},
	}}}
	node := func(name, bundle string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{site.BundleNote: bundle}}}
	}
	nodes := []corev1.Node{node("joined", s.Index.ID()), node("old", "another"), node("back", s.Index.ID())}
	open := owed.Open([]owed.Debt{
		{Node: "joined", Command: owed.Join}, {Node: "old", Command: owed.Upgrade}, {Node: "missing", Command: owed.Join},
		{Node: "back", Command: owed.Rollback}, {Node: "removed", Command: owed.Join}, {Node: "away", Command: owed.Join},
	}, s, nodes)
	assert.Equal(t, []owed.Debt{{Node: "old", Command: owed.Upgrade}, {Node: "missing", Command: owed.Join}, {Node: "back", Command: owed.Rollback}}, open)
}
