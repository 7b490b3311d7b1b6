package upgrade

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/advice"
)

// TestHaveBackups: only prepared control-plane hosts and this one have a backup when the first host is changed.
func TestHaveBackups(t *testing.T) {
	u := &upgrade{rollout: rollout{site: threeMasters(t, "cp1"), target: "new"}}
	node := func(name, prepared string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{site.PreparedNote: prepared}}}
	}
	u.nodes = map[string]corev1.Node{"cp1": node("cp1", ""), "cp2": node("cp2", "new"), "cp3": node("cp3", "old"), "w1": node("w1", "new")}
	assert.Equal(t, []string{"cp1", "cp2"}, u.haveBackups())
	delete(u.nodes, "cp2")
	assert.Equal(t, []string{"cp1"}, u.haveBackups())
}

// TestRollbackAfterTakeOver: a host that joined during the upgrade and took it over has a backup of a half upgraded
// cluster. Its rollback is refused, and names the hosts with a backup from before.
func TestRollbackAfterTakeOver(t *testing.T) {
	changed := time.Date(2026, 11, 29, 14, 2, 0, 0, time.UTC)
	record := func(backups ...string) upgraderecord.Record {
		r := upgraderecord.Record{To: upgraderecord.BundleRef{Name: "next", ID: strings.Repeat("b", 64)}}
		r.Change(nil, backups, changed)
		return r
	}
	before, later := changed.Add(-20*time.Minute), changed.Add(20*time.Minute)
	for name, tc := range map[string]struct {
		record         upgraderecord.Record
		taken          time.Time
		fails, advises string
	}{
		"a backup from before":           {record: record("cp1", "cp2"), taken: before},
		"clocks that differ":             {record: record("cp1", "cp2"), taken: changed.Add(2 * time.Second)},
		"a record of an older airgap":    {record: upgraderecord.Record{Changed: true}, taken: later},
		"a host that joined later":       {record("cp1", "cp3"), later, "it is not of the state before the upgrade", "cp3 took one before, in /var/lib/airgap/upgrade/before-bbbbbbbbbbbb: replace"},
		"the others are removed":         {record("cp1"), later, "it is not of the state before the upgrade", "no longer in the cluster (cp1)"},
		"this host has taken it again":   {record("cp2"), later, "it is not of the state before the upgrade", "airgap restore"},
		"several hosts with a backup":    {record("cp1", "cp3", "cp4"), later, "the backup of cp2 is of", "cp[3-4] took one before"},
		"a host that is in the list too": {record("cp2", "cp3"), later, "the backup of cp2 is of", "cp3 took one before"},
	} {
		err := checkBackupTime(threeMasters(t, "cp2").Without([]string{"cp1"}), tc.record, tc.taken)
		if tc.fails == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, tc.fails, name)
		assert.Contains(t, advice.Of(err), tc.advises, name)
	}
}

// TestTakeOverWarns: who continues an upgrade learns at once that another host has the backup.
func TestTakeOverWarns(t *testing.T) {
	r := upgraderecord.Record{To: upgraderecord.BundleRef{ID: strings.Repeat("b", 64)}}
	said := func(node string) string {
		var b strings.Builder
		warnOfBackup(r, node, func(format string, args ...any) { fmt.Fprintf(&b, format, args...) })
		return b.String()
	}
	assert.Empty(t, said("cp3"), "nothing is changed")
	r.Change(nil, []string{"cp1", "cp2"}, time.Now())
	assert.Empty(t, said("cp2"))
	assert.Contains(t, said("cp3"), "keep that of cp[1-2] in /var/lib/airgap/upgrade/before-bbbbbbbbbbbb")
}
