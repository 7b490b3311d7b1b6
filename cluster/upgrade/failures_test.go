package upgrade

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/verify/result"
)

// withDead returns an upgrade whose login on w3 failed: the node is not Ready.
func withDead(t *testing.T) (*world, *upgrade) {
	t.Helper()
	w := newWorld(t, few)
	u, _ := w.begin(Pace{Choice: choice.Choice{MaxFailures: 1}})
	u.old, u.site.Machine.Machine = &site.Site{Config: w.config}, host.Machine{Host: host.Local{}, Root: t.TempDir()}
	dead := u.nodes["w3"]
	dead.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	u.nodes["w3"] = dead
	lost := fleet.FailedHost("w3", "10.1.1.3", advice.Add(errors.New("login failed: dial tcp 10.1.1.3:22: no route to host"), "check the host"))
	u.leftOut = func() []fleet.LeftOut { return []fleet.LeftOut{lost, {Node: "w4", Why: "left out with --except"}} }
	return w, u
}

// TestCheckWithoutDeadWorker: the checks before the upgrade do not judge a worker that the login left out, do not drain it
// and owe it nothing. The upgrade owes it its changes.
func TestCheckWithoutDeadWorker(t *testing.T) {
	w, u := withDead(t)
	require.ErrorContains(t, u.check(t.Context()), "admin.conf", "this host has no cluster")
	v, _ := u.verification(true) // the error is about the registry, which this host does not have
	assert.Equal(t, []string{"w3"}, v.LeftOut)
	assert.NotContains(t, namesOf(u.drains()), "w3")
	assert.Empty(t, w.owes(), "a check changes no record")

	require.NoError(t, withoutFailed(&u.rollout))
	assert.Equal(t, map[string]string{"w3": "login failed: dial tcp 10.1.1.3:22: no route to host"}, w.owes())
	_, incomplete := errors.AsType[*fleet.IncompleteError](u.pace.failures())
	assert.True(t, incomplete)
	assert.Len(t, u.pace.failed, 1, "once, and not the one that the user left out")
}

// TestPlanWithoutDeadWorker: the dry run names the worker that the upgrade leaves out, and has no step for it.
func TestPlanWithoutDeadWorker(t *testing.T) {
	_, u := withDead(t)
	u.takeFailed()
	plan := u.plan()
	assert.Equal(t, "cp1: control plane; w1: first worker, alone; w[2,4-7]: one by one", short(plan))
	var text bytes.Buffer
	require.NoError(t, plan.Write(&text))
	assert.Contains(t, text.String(), "\nw3: left out: login failed: dial tcp 10.1.1.3:22: no route to host\n")
}

// TestErrorsNameTheFlags: upgrade and rollback have --except and --max-failures for workers, and no --except for
// control-plane hosts.
func TestErrorsNameTheFlags(t *testing.T) {
	p := pace{Pace: Pace{Choice: choice.Choice{MaxFailures: 2}}, out: map[string]bool{"w2": true}}
	o := p.reaching(nil, []string{"swap"}, true)
	assert.Equal(t, fleet.Options{
		Choosable: true, AllControlPlanes: true, Skip: []string{"swap"}, NoSSH: true, Choice: choice.Choice{MaxFailures: 2, Except: []string{"w2"}},
	}, o)
}

// TestFailedRunHasResult: a run that went on without a failed worker, and then fails itself, loses neither the result nor the
// earlier failure. Its error is no run that went on.
func TestFailedRunHasResult(t *testing.T) {
	_, u := withDead(t)
	u.takeFailed()
	_, err := u.ended(errors.New("step upgrade-w5: no space"))
	for _, want := range []string{"step upgrade-w5: no space\nbefore that, 1 of 7 other hosts left out, after a failure", "w3: login failed"} {
		require.ErrorContains(t, err, want)
	}
	_, incomplete := errors.AsType[*fleet.IncompleteError](err)
	assert.False(t, incomplete)

	steps := step.Result{Changed: 7, Unchanged: 2}
	done, err := u.result(steps, nil, u.pace.failures())
	_, incomplete = errors.AsType[*fleet.IncompleteError](err)
	assert.True(t, incomplete)
	assert.True(t, done.Began())
	var text bytes.Buffer
	require.NoError(t, done.Write(&text))
	assert.Contains(t, text.String(), "w3: left out: login failed: dial tcp 10.1.1.3:22: no route to host\nthe upgrade from Kubernetes  to  is not finished (7 steps ran, 2 were up to date)\n")

	bad := &verification.ReportError{Report: result.Report{Findings: []result.Finding{{Rule: "nodes-ready"}}}}
	r := &rollback{}
	r.pace.failed, r.findings = u.pace.failed, u.findings
	back, err := r.result(steps, nil, bad)
	require.ErrorIs(t, err, bad)
	assert.Equal(t, bad.Report, *back.Report)
	text.Reset()
	require.NoError(t, back.Write(&text))
	assert.Contains(t, text.String(), "w3: left out: login failed: dial tcp 10.1.1.3:22: no route to host\nnot finished: the rollback to Kubernetes")
}
