package verification

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/verify"
	"airgap.dev/airgap/verify/result"
)

func siteWithAbsent() *site.Site {
	nodes := []config.Node{
		{Name: "cp1"}, {Name: "w1"}, {Name: "w2"},
		{Name: "w3", Absent: &config.Absent{Reason: "mainboard", Until: "2026-12-24"}},
		{Name: "w4", Absent: &config.Absent{Reason: "not delivered"}},
	}
	return &site.Site{Config: &config.Cluster{Nodes: nodes}, Node: nodes[0], Nodes: nodes}
}

// TestOwedFindings: an owed host is a finding with its command, and an absent one after its date.
func TestOwedFindings(t *testing.T) {
	before := time.Date(2026, 12, 23, 12, 0, 0, 0, time.Local)
	after := before.AddDate(0, 0, 1)
	record, client := owed.File(filepath.Join(t.TempDir(), "owed.json")), fake.NewClientset()
	d := &debts{site: siteWithAbsent(), known: func(ctx context.Context) ([]owed.Debt, error) { return record.Known(ctx, client) }}
	lists := 0
	d.list = func(context.Context) ([]corev1.Node, error) { lists++; return nil, nil }
	assert.Empty(t, d.findings(t.Context(), before))
	assert.Zero(t, lists, "a cluster without debts is asked nothing")

	since := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	require.NoError(t, record.Owe(owed.Debt{Node: "w2", Command: owed.Join, Why: "login failed: refused", Since: since}, owed.Debt{Node: "sold", Command: owed.Join}))
	found := d.findings(t.Context(), before)
	require.Len(t, found, 1)
	assert.Equal(t, "Node w2", found[0].Object)
	assert.Equal(t, "owed since 2026-11-20: login failed: refused", found[0].Saw)
	assert.Contains(t, found[0].Fix, "airgap install DIR picks it up")
	assert.Equal(t, since, found[0].Since)

	found = d.findings(t.Context(), after)
	require.Len(t, found, 2)
	assert.Equal(t, "absent (mainboard, until 2026-12-24), and this date is past", found[1].Saw)
	assert.Contains(t, found[1].Fix, "remove nodes[].absent")
	d.list = func(context.Context) ([]corev1.Node, error) {
		return []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "w3"}}}, nil
	}
	assert.Len(t, d.findings(t.Context(), after.Add(30*time.Minute)), 2, "w3 is a node that is not Ready")
	d.list = func(context.Context) ([]corev1.Node, error) {
		ready := corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}
		return []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "w3"}, Status: ready}}, nil
	}
	assert.Len(t, d.findings(t.Context(), after.Add(time.Hour)), 1, "w3 is back")
	d.list = func(context.Context) ([]corev1.Node, error) { return nil, errors.New("no answer") }
	assert.Len(t, d.findings(t.Context(), after.Add(2*time.Hour)), 1, "an earlier answer counts")

	require.NoError(t, os.WriteFile(string(record), []byte("{"), 0o600))
	found = d.findings(t.Context(), before)
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Saw, "read the record of owed hosts")
	assert.Empty(t, (&debts{}).findings(t.Context(), after), "the cluster of another host")
}

// TestOwedOnAnotherHost: cp2 knows the hosts that cp1 left out, and without an answer of the cluster it cannot tell.
func TestOwedOnAnotherHost(t *testing.T) {
	client, now := fake.NewClientset(), time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	cp1, cp2 := owed.File(filepath.Join(t.TempDir(), "owed.json")), owed.File(filepath.Join(t.TempDir(), "owed.json"))
	require.NoError(t, cp1.Owe(owed.Debt{Node: "w2", Command: owed.Join, Why: "refused"}))
	require.NoError(t, cp1.Share(t.Context(), client))
	begin := func() *debts {
		return &debts{site: siteWithAbsent(), known: func(ctx context.Context) ([]owed.Debt, error) { return cp2.Known(ctx, client) },
			list: func(context.Context) ([]corev1.Node, error) { return nil, nil }}
	}
	d := begin()
	found := d.findings(t.Context(), now)
	require.Len(t, found, 1)
	assert.Equal(t, "Node w2", found[0].Object)

	client.PrependReactor("get", "configmaps", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	found = d.findings(t.Context(), now.Add(time.Minute))
	require.Len(t, found, 1, "the last answer counts for some minutes")
	assert.Equal(t, "Node w2", found[0].Object)
	for name, found := range map[string][]result.Finding{"no answer yet": begin().findings(t.Context(), now), "an old answer": d.findings(t.Context(), now.Add(time.Hour))} {
		require.Len(t, found, 1, name)
		assert.Contains(t, found[0].Saw, "cannot tell which hosts other control-plane hosts have left out", name)
		assert.Contains(t, found[0].Fix, "configmap airgap-owed", name)
	}
}

// TestMayBeDown: an absent node may be not Ready until its date.
func TestMayBeDown(t *testing.T) {
	s, day := siteWithAbsent(), time.Date(2026, 12, 24, 0, 0, 0, 0, time.Local)
	assert.Equal(t, []string{"w3", "w4"}, mayBeDown(s, day.Add(-time.Second)))
	assert.Equal(t, []string{"w4"}, mayBeDown(s, day))
}

// TestExcused: owed and absent nodes may be missing, and a note names the absent ones.
func TestExcused(t *testing.T) {
	all := []owed.Debt{{Node: "w2", Command: owed.Join}, {Node: "w1", Command: owed.Upgrade}}
	s := siteWithAbsent()
	got := excused(s, all)
	for name, want := range map[string]bool{"cp1": false, "w1": false, "w2": true, "w3": true, "w4": true} {
		assert.Equal(t, want, got[name], name)
	}
	assert.Equal(t, []string{"cp1", "w1", "w2"}, expected(s, false, nil))
	assert.Equal(t, []string{"cp1", "w1"}, expected(s, false, all))
	assert.Equal(t, []string{"w3 is absent: mainboard, until 2026-12-24", "w4 is absent: not delivered"}, absentNotes(s))
}

// TestReaderMayReadOwed: the role of read-only users allows the record of owed hosts, and no other ConfigMap.
func TestReaderMayReadOwed(t *testing.T) {
	rules, _, err := unstructured.NestedSlice(verify.ReaderObjects()[0].Object, "rules")
	require.NoError(t, err)
	var names []any
	for _, r := range rules {
		rule := r.(map[string]any)
		if resources, _ := rule["resources"].([]any); slices.Contains(resources, any("configmaps")) {
			names = append(names, rule["resourceNames"].([]any)...)
		}
	}
	assert.Equal(t, []any{owed.SharedName}, names)
}
