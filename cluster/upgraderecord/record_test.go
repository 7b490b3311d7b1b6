package upgraderecord

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/config"
)

// TestRefuseDuringUpgrade: only the first host records the end of an upgrade. Another host must not
// refuse actions after the end.
func TestRefuseDuringUpgrade(t *testing.T) {
	c := sitetest.ClusterFrom(t)
	upgrade := Record{To: BundleRef{Name: "next", ID: "id"}, Began: time.Now()}
	other := c.Nodes[slices.IndexFunc(c.Nodes, func(n config.Node) bool { return n.Name != c.Master().Name })]
	first, second := &site.Site{Config: c, Node: c.Master()}, &site.Site{Config: c, Node: other}
	if err := RefuseDuringUpgrade(first, upgrade, nil, "rotate"); err == nil || !strings.Contains(err.Error(), "rotate: the upgrade to bundle next is not finished") {
		t.Errorf("on the first host: %v", err)
	}
	if err := RefuseDuringUpgrade(second, upgrade, []string{"w1"}, "rotate"); err == nil || !strings.Contains(err.Error(), "rotate: these nodes are not upgraded to bundle next yet: w1") {
		t.Errorf("on another host, during the upgrade: %v", err)
	}
	if err := RefuseDuringUpgrade(second, upgrade, nil, "rotate"); err != nil {
		t.Error(err)
	}
	upgrade.Ended = time.Now()
	if err := RefuseDuringUpgrade(first, upgrade, nil, "rotate"); err != nil {
		t.Error(err)
	}
	upgrade.RollbackBegan = time.Now()
	if err := RefuseDuringUpgrade(first, upgrade, nil, "rotate"); err == nil {
		t.Error("no error during a rollback")
	}
}

// TestNotAnnotated: a node without annotations is not upgraded.
func TestNotAnnotated(t *testing.T) {
	node := func(name string, annotations map[string]string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
	}
	got := notAnnotated(
		[]corev1.Node{node("cp1", map[string]string{site.BundleNote: "id"}), node("cp2", map[string]string{site.BundleNote: "old", site.PreparedNote: "id"}), node("w1", nil)},
		site.BundleNote,
		"id",
	)
	if !slices.Equal(got, []string{"cp2", "w1"}) {
		t.Errorf("got %q", got)
	}
}

// TestRefuseDuringRollback: a host that has left the cluster must not continue the upgrade.
func TestRefuseDuringRollback(t *testing.T) {
	now := time.Now()
	to := BundleRef{Name: "next", ID: "id", Kubernetes: "1.36.3"}
	for name, tc := range map[string]struct {
		r       Record
		refused bool
	}{
		"no upgrade":                     {Record{}, false},
		"upgrade in progress":            {Record{To: to}, false},
		"rollback in progress":           {Record{To: to, RollbackBegan: now}, true},
		"rollback of a finished upgrade": {Record{To: to, Ended: now, RollbackBegan: now}, true},
		"finished rollback":              {Record{To: to, RollbackBegan: now, RolledBack: now}, false},
	} {
		err := tc.r.RefuseDuringRollback()
		if (err != nil) != tc.refused || err != nil && !strings.Contains(err.Error(), "the rollback of the upgrade to bundle next (Kubernetes 1.36.3) is not finished") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInProgress: an upgrade is no longer in progress after its end or its rollback.
func TestInProgress(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct {
		r    Record
		want bool
	}{
		{Record{}, false},
		{Record{To: BundleRef{ID: "b"}}, true},
		{Record{To: BundleRef{ID: "b"}, Ended: now}, false},
		{Record{To: BundleRef{ID: "b"}, RolledBack: now}, false},
		{Record{To: BundleRef{ID: "b"}, Ended: now, RollbackBegan: now}, true},
		{Record{To: BundleRef{ID: "b"}, Ended: now, RollbackBegan: now, RolledBack: now}, false},
	} {
		if got := tc.r.InProgress(); got != tc.want {
			t.Errorf("%+v: %v", tc.r, got)
		}
	}
}
