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

// TestOnlyTheFirstHostIsAmidAnUpgrade: the others are not told of its end, and must not
// keep it from what comes after for ever.
func TestOnlyTheFirstHostIsAmidAnUpgrade(t *testing.T) {
	c := sitetest.ClusterFrom(t)
	under := Record{To: BundleRef{Name: "next", ID: "id"}, Began: time.Now()}
	other := c.Nodes[slices.IndexFunc(c.Nodes, func(n config.Node) bool { return n.Name != c.Master().Name })]
	first, second := &site.Site{Config: c, Node: c.Master()}, &site.Site{Config: c, Node: other}
	if err := RefuseAmidUpgrade(first, under, nil, "turn"); err == nil || !strings.Contains(err.Error(), "bundle next has not ended") {
		t.Errorf("the first host says %v", err)
	}
	if err := RefuseAmidUpgrade(second, under, []string{"w1"}, "turn"); err == nil || !strings.Contains(err.Error(), "bundle next has not come to w1") {
		t.Errorf("another host, amid it, says %v", err)
	}
	if err := RefuseAmidUpgrade(second, under, nil, "turn"); err != nil {
		t.Error(err)
	}
	under.Ended = time.Now()
	if err := RefuseAmidUpgrade(first, under, nil, "turn"); err != nil {
		t.Error(err)
	}
	under.BackBegan = time.Now()
	if err := RefuseAmidUpgrade(first, under, nil, "turn"); err == nil {
		t.Error("nothing is refused amid a rollback")
	}
}

// TestWithout: a node that says nothing of itself has not been reached.
func TestWithout(t *testing.T) {
	note := func(name string, notes map[string]string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: notes}}
	}
	got := without(
		[]corev1.Node{note("cp1", map[string]string{site.BundleNote: "id"}), note("cp2", map[string]string{site.BundleNote: "old", site.PreparedNote: "id"}), note("w1", nil)},
		site.BundleNote,
		"id",
	)
	if !slices.Equal(got, []string{"cp2", "w1"}) {
		t.Errorf("got %q", got)
	}
}

// TestNoUpgradeAmidRollback: a host that has left the cluster must not go on in it.
func TestNoUpgradeAmidRollback(t *testing.T) {
	now := time.Now()
	to := BundleRef{Name: "next", ID: "id", Kubernetes: "1.36.3"}
	for name, tc := range map[string]struct {
		r       Record
		refused bool
	}{
		"none":                    {Record{}, false},
		"an upgrade under way":    {Record{To: to}, false},
		"it is being taken back":  {Record{To: to, BackBegan: now}, true},
		"also where it had ended": {Record{To: to, Ended: now, BackBegan: now}, true},
		"it was taken back":       {Record{To: to, BackBegan: now, RolledBack: now}, false},
	} {
		err := tc.r.RefuseAmidRollback()
		if (err != nil) != tc.refused || err != nil && !strings.Contains(err.Error(), "is being taken back") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnder: an upgrade that ended or was taken back is over.
func TestUnder(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct {
		r    Record
		want bool
	}{
		{Record{}, false},
		{Record{To: BundleRef{ID: "b"}}, true},
		{Record{To: BundleRef{ID: "b"}, Ended: now}, false},
		{Record{To: BundleRef{ID: "b"}, RolledBack: now}, false},
		{Record{To: BundleRef{ID: "b"}, Ended: now, BackBegan: now}, true},
		{Record{To: BundleRef{ID: "b"}, Ended: now, BackBegan: now, RolledBack: now}, false},
	} {
		if got := tc.r.Under(); got != tc.want {
			t.Errorf("%+v: %v", tc.r, got)
		}
	}
}
