package upgraderecord

import (
	"bytes"
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/verify/apitest"
)

var began = time.Date(2026, 11, 29, 14, 2, 11, 5, time.UTC)

// upgradeTo is the record of an upgrade that has changed a host.
func upgradeTo(id string) Record {
	return Record{From: BundleRef{ID: "old"}, To: BundleRef{Name: "next", ID: id}, Began: began, Cordoned: []string{"w9"}, Changed: true}
}

// hostWith is the directory of a host with this record, and with a baseline if it is not empty.
func hostWith(t *testing.T, r Record, baseline []byte) directory {
	t.Helper()
	d := directory(t.TempDir())
	require.NoError(t, host.WriteJSON(d.path(UpgradeRecordFile), r))
	if len(baseline) > 0 {
		require.NoError(t, os.WriteFile(d.path(UpgradeBaselineFile), baseline, 0o600))
	}
	return d
}

// shareBy shares the record of a host, as the steps of an upgrade do.
func shareBy(t *testing.T, d directory, node string, client kubernetes.Interface) {
	t.Helper()
	s := d.shareStep("share", "", node, func() (kubernetes.Interface, error) { return client, nil })
	done, err := s.Done(t.Context())
	require.NoError(t, err)
	require.False(t, done)
	require.NoError(t, s.Run(t.Context()))
	done, err = s.Done(t.Context())
	require.NoError(t, err)
	require.True(t, done)
}

// TestUpgradeContinuesOnAnotherHost: a prepared host gets the record and the baseline of the host that began the upgrade,
// also its end. Without them it would take the half upgraded cluster for the state before the upgrade.
func TestUpgradeContinuesOnAnotherHost(t *testing.T) {
	client, baseline := fake.NewClientset(), bytes.Repeat([]byte(`{"pods":"all"}`), 1<<17)
	first := hostWith(t, upgradeTo("id"), baseline)
	shareBy(t, first, "cp1", client)

	prepared := upgradeTo("id")
	prepared.Began, prepared.Changed, prepared.Cordoned = began.Add(time.Minute), false, []string{}
	second := hostWith(t, prepared, nil)
	leader, err := second.adopt(t.Context(), client, "cp2")
	require.NoError(t, err)
	assert.Equal(t, "cp1", leader)
	got, err := second.record()
	require.NoError(t, err)
	assert.True(t, got.same(upgradeTo("id")), "%+v", got)
	text, err := os.ReadFile(second.path(UpgradeBaselineFile))
	require.NoError(t, err)
	assert.Equal(t, baseline, text)
	leader, err = second.adopt(t.Context(), client, "cp2")
	require.NoError(t, err)
	assert.Empty(t, leader, "a second run has the record already")

	shareBy(t, second, "cp2", client) // it leads now
	got.Ended = began.Add(time.Hour)
	require.NoError(t, host.WriteJSON(second.path(UpgradeRecordFile), got))
	shareBy(t, second, "cp2", client)
	_, err = first.adopt(t.Context(), client, "cp1") // it was not lost, and learns the end
	require.NoError(t, err)
	got, err = first.record()
	require.NoError(t, err)
	assert.False(t, got.InProgress())
}

// TestLargeBaseline: a baseline that no Secret can hold stays out, and the other host records one.
func TestLargeBaseline(t *testing.T) {
	noise := make([]byte, maxShared+1)
	_, err := rand.Read(noise)
	require.NoError(t, err)
	client := fake.NewClientset()
	shareBy(t, hostWith(t, upgradeTo("id"), noise), "cp1", client)
	second := hostWith(t, Record{}, nil)
	_, err = second.adopt(t.Context(), client, "cp2")
	require.NoError(t, err)
	assert.NoFileExists(t, second.path(UpgradeBaselineFile))
}

// TestLargestBaselineFits checks with a real API server that a Secret can hold the largest baseline that is shared.
func TestLargestBaselineFits(t *testing.T) {
	client := apitest.Start(t).Client(t)
	noise := make([]byte, maxShared-1024) // it does not compress
	_, err := rand.Read(noise)
	require.NoError(t, err)
	shareBy(t, hostWith(t, upgradeTo("id"), noise), "cp1", client)
	shareBy(t, hostWith(t, upgradeTo("id"), noise), "cp2", client) // takes over
	second := hostWith(t, Record{}, nil)
	leader, err := second.adopt(t.Context(), client, "cp3")
	require.NoError(t, err)
	assert.Equal(t, "cp2", leader)
	text, err := os.ReadFile(second.path(UpgradeBaselineFile))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(noise, text))
}

// TestYields: which record is valid on a host.
func TestYields(t *testing.T) {
	ended, unchanged, rollingBack, rolledBack := upgradeTo("id"), upgradeTo("id"), upgradeTo("id"), upgradeTo("id")
	ended.Ended, unchanged.Changed, rollingBack.RollbackBegan = began.Add(time.Hour), false, began.Add(time.Hour)
	rolledBack.RollbackBegan, rolledBack.RolledBack = began.Add(time.Hour), began.Add(2*time.Hour)
	for name, tc := range map[string]struct {
		own, shared Record
		leader      string
		adopted     bool
	}{
		"the host that leads":                   {ended, upgradeTo("id"), "cp2", false},
		"a replacement of the host that led":    {Record{}, upgradeTo("id"), "cp2", true},
		"a host that joined during the upgrade": {Record{}, upgradeTo("id"), "cp1", true},
		"an older upgrade, which is finished":   {upgradeTo("new"), ended, "cp1", false},
		"an older own record":                   {ended, upgradeTo("new"), "cp1", true},
		"a rollback that has begun here":        {rollingBack, upgradeTo("id"), "cp1", false},
		"a rollback that is finished":           {rolledBack, ended, "cp1", false},
		"the end":                               {upgradeTo("id"), ended, "cp1", true},
		"the change of the first host":          {unchanged, upgradeTo("id"), "cp1", true},
	} {
		assert.Equal(t, tc.adopted, tc.own.yieldsTo(&shared{Record: tc.shared, Leader: tc.leader}, "cp2"), name)
	}
}

// TestUnshare: a restored cluster does not continue an upgrade.
func TestUnshare(t *testing.T) {
	client := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: SharedName, Namespace: metav1.NamespaceSystem}, Data: map[string][]byte{recordKey: []byte("{}")}})
	s := UnshareStep(func() (kubernetes.Interface, error) { return client, nil })
	for _, want := range []bool{false, true} {
		done, err := s.Done(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, done)
		require.NoError(t, s.Run(t.Context()))
	}
}

// TestTooLate: a backup from after the first change is not of the state before the upgrade. The cluster has the time and the
// hosts with a backup.
func TestTooLate(t *testing.T) {
	r := upgradeTo("id")
	assert.False(t, r.TooLate(began.AddDate(1, 0, 0)), "the record of an older airgap")
	client, changed := fake.NewClientset(), began.Add(time.Hour)
	r.Change([]string{"w9"}, []string{"cp1", "cp2"}, changed)
	shareBy(t, hostWith(t, r, nil), "cp1", client)
	late := hostWith(t, Record{}, nil)
	_, err := late.adopt(t.Context(), client, "cp3")
	require.NoError(t, err)
	got, err := late.record()
	require.NoError(t, err)
	assert.True(t, got.Changed)
	assert.Equal(t, []string{"cp1", "cp2"}, got.Backups)
	assert.False(t, got.TooLate(changed.Add(-time.Minute)))
	assert.False(t, got.TooLate(changed.Add(time.Second)), "clocks differ")
	assert.True(t, got.TooLate(changed.Add(10*time.Minute)))
	assert.False(t, got.same(upgradeTo("id")), "the hosts with a backup are part of the state")
}
