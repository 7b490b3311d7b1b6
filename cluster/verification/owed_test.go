package verification

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
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
	d := &debts{site: siteWithAbsent(), record: owed.File(filepath.Join(t.TempDir(), "owed.json"))}
	lists := 0
	d.list = func(context.Context) ([]corev1.Node, error) { lists++; return nil, nil }
	assert.Empty(t, d.findings(t.Context(), before))
	assert.Zero(t, lists, "a cluster without debts is asked nothing")

	since := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	require.NoError(t, d.record.Owe(owed.Debt{Node: "w2", Command: owed.Join, Why: "login failed: refused", Since: since}, owed.Debt{Node: "sold", Command: owed.Join}))
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
	assert.Len(t, d.findings(t.Context(), after.Add(time.Hour)), 1, "w3 is a node")
	d.list = func(context.Context) ([]corev1.Node, error) { return nil, errors.New("no answer") }
	assert.Len(t, d.findings(t.Context(), after.Add(2*time.Hour)), 1, "an earlier answer counts")

	require.NoError(t, os.WriteFile(string(d.record), []byte("{"), 0o600))
	found = d.findings(t.Context(), before)
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Saw, "read the record of owed hosts")
	assert.Empty(t, (&debts{}).findings(t.Context(), after), "the cluster of another host")
}

// TestExcused: owed and absent nodes may be missing, and a note names the absent ones.
func TestExcused(t *testing.T) {
	record := owed.File(filepath.Join(t.TempDir(), "owed.json"))
	require.NoError(t, record.Owe(owed.Debt{Node: "w2", Command: owed.Join}, owed.Debt{Node: "w1", Command: owed.Upgrade}))
	s := siteWithAbsent()
	got := excused(s, record)
	for name, want := range map[string]bool{"cp1": false, "w1": false, "w2": true, "w3": true, "w4": true} {
		assert.Equal(t, want, got[name], name)
	}
	assert.Equal(t, []string{"cp1", "w1", "w2"}, expected(s, false)) // this host has no record
	assert.Equal(t, []string{"w3 is absent: mainboard, until 2026-12-24", "w4 is absent: not delivered"}, absentNotes(s))
}
