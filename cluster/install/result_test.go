package install

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/verify/result"
)

// TestResultNamesLeftOutHosts: the result has hosts with the same reason in one line, and says what is verified.
func TestResultNamesLeftOutHosts(t *testing.T) {
	r := Result{Node: "cp1", Changed: 3, Hosts: []fleet.Joined{{Node: "w1", Changed: 2, Unchanged: 1}, {Node: "w9", Error: "no space"}, {Node: "w4", Error: "refused"}}, LeftOut: []fleet.LeftOut{
		{Node: "w2", Why: "left out with --limit"}, {Node: "w3", Why: "left out with --limit"},
		{Node: "w4", Why: "login failed: refused", Failed: true}, {Node: "w5", Why: "absent: not delivered", Absent: true},
	}}
	text := func() string {
		var b strings.Builder
		require.NoError(t, r.Write(&b))
		return b.String()
	}
	const hosts = "cp1: done (3 steps ran, 0 were up to date)\nw1: done (2 steps ran, 1 were up to date)\nw9: did not join\n" +
		"w[2-3]: left out with --limit\nw4: left out: login failed: refused\nw5: absent: not delivered\n"
	assert.Equal(t, hosts, text())
	r.verified = true
	assert.Equal(t, hosts+"the cluster is verified, without the hosts that are left out\n", text())
	r.Hosts, r.LeftOut = r.Hosts[:1], nil
	assert.Contains(t, text(), "the cluster is verified: 2 nodes, all as airgap.yaml has them\n")
}

// TestResultAfterVerification: a failed verification loses neither the result of the hosts, nor the error about those that
// are left out. It does not judge them.
func TestResultAfterVerification(t *testing.T) {
	i := &installation{options: Options{Skip: []string{"etcd"}}}
	out := []fleet.LeftOut{fleet.FailedHost("w4", "192.0.2.24", errors.New("login failed: refused"))}
	assert.Equal(t, []string{"w4"}, i.judged(out).LeftOut)
	assert.Nil(t, i.judged(nil).LeftOut)

	r := Result{Node: "cp1", Changed: 3, Hosts: []fleet.Joined{{Node: "w1", Changed: 2}}, LeftOut: out}
	left := &fleet.IncompleteError{Left: out, Others: 2}
	done, err := r.judgedBy(nil, left)
	require.ErrorIs(t, err, left)
	var b strings.Builder
	require.NoError(t, done.Write(&b))
	assert.Contains(t, b.String(), "the cluster is verified, without the hosts that are left out\n")

	bad := &verification.ReportError{Report: result.Report{Findings: []result.Finding{{Rule: "nodes-ready"}}}}
	done, err = r.judgedBy(bad, left)
	require.ErrorIs(t, err, bad)
	require.ErrorIs(t, err, left)
	assert.Equal(t, bad.Report, *done.Report)
	b.Reset()
	require.NoError(t, done.Write(&b))
	assert.Equal(t, "cp1: done (3 steps ran, 0 were up to date)\nw1: done (2 steps ran, 0 were up to date)\nw4: left out: login failed: refused\n", b.String())

	alone, err := Result{Node: "cp1", Changed: 3, BackupKey: "SHA256:4be0"}.judgedBy(bad, nil)
	require.ErrorIs(t, err, bad)
	b.Reset()
	require.NoError(t, alone.Write(&b))
	assert.Contains(t, b.String(), "cp1: installed (3 steps ran, 0 were up to date), and not verified\ncp1 signs its backups with key SHA256:4be0")
}
