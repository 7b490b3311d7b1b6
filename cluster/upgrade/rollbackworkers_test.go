package upgrade

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/step"
)

// beginBack returns a run of a rollback in the same world: its workers go to the bundle of the world.
func (w *world) beginBack(o Pace) (*rollback, []step.Step, bool) {
	w.t.Helper()
	u, _ := w.begin(o)
	r := &rollback{}
	r.site, r.client, r.p, r.limits, r.journal, r.debts, r.doneWorkers, r.findings = u.site, u.client, u.p, u.limits, u.journal, u.debts, u.doneWorkers, u.findings
	r.target, r.changing, r.line = target, w.change, commandLine
	r.record.From.ID, r.record.To.ID = target, "bundle-0"
	require.NoError(w.t, r.pace.set("rollback", o, w.console()))
	require.NoError(w.t, r.pace.choose(w.config.Nodes))
	nodes, err := w.client.CoreV1().Nodes().List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	r.record.Changed = true
	r.recordNodes(nodes.Items)
	steps, whole, err := r.backSteps()
	require.NoError(w.t, err)
	return r, steps, whole
}

func (w *world) runBack(ctx context.Context, o Pace) (*Left, error) {
	r, steps, _ := w.beginBack(o)
	_, err := step.Run(ctx, r.journal, steps, func(step.Event) {})
	r.pace.end()
	if err == nil {
		err = r.pace.failures()
	}
	return r.ended(err)
}

// TestRollbackInBatches: the workers come back in the batches of an upgrade, and a worker that is back has no step in
// the next run.
func TestRollbackInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		_, steps, whole := w.beginBack(Pace{Batch: "3"})
		assert.Equal(t, []string{"rollback-back-w1", "rollback-back-w[2-4]", "rollback-back-w[5-7]"}, sitetest.StepNames(steps))
		assert.True(t, whole)

		left, err := w.runBack(t.Context(), Pace{Batch: "3", Hosts: 3})
		require.NoError(t, err)
		assert.Equal(t, []string{"w4", "w5", "w6", "w7"}, left.Hosts)
		assert.Equal(t, []string{"w1", "w2", "w3"}, w.upgraded())
		assert.Contains(t, left.skew, "does not support kubelets that are newer than the API server")

		_, steps, whole = w.beginBack(Pace{Batch: "3"})
		assert.Equal(t, []string{"rollback-back-w[4-6]", "rollback-back-w7"}, sitetest.StepNames(steps))
		assert.True(t, whole)
		_, err = w.runBack(t.Context(), Pace{Batch: "3"})
		require.NoError(t, err)
		assert.Len(t, w.order, 7)
		assert.Empty(t, w.isCordoned())
	})
}

// TestRollbackGoesOn: the rollback does not end without a worker that failed, and the next run brings it back.
func TestRollbackGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		w.bad["w2"] = errors.New("no space left")
		debts := owed.File(filepath.Join(w.dir, "owed.json"))
		require.NoError(t, debts.Owe(owed.Debt{Node: "w1", Command: owed.Upgrade, Why: "left out"}, owed.Debt{Node: "w9", Command: owed.Upgrade, Why: "left out"}))
		var o Pace
		o.Choice.MaxFailures = 1
		_, err := w.runBack(t.Context(), o)
		require.ErrorContains(t, err, "w2: no space left")
		assert.Len(t, w.upgraded(), 6)
		assert.Equal(t, map[string]string{"w2": "no space left", "w9": "left out"}, w.owes(), "w1 is back, and owed no upgrade")

		clear(w.bad)
		r, steps, _ := w.beginBack(o)
		assert.Equal(t, []string{"rollback-back-w2"}, sitetest.StepNames(steps))
		assert.False(t, r.pace.unproved[false])
		_, err = w.runBack(t.Context(), o)
		require.NoError(t, err)
		assert.Len(t, w.upgraded(), 7)
		require.NoError(t, forgiveUpgrade(r.debts))
		assert.Empty(t, w.owes())
	})
}

// TestRollbackOneByOne: without batches the journal records the steps, as in older versions.
func TestRollbackOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		_, err := w.runBack(t.Context(), Pace{Hosts: 2})
		require.NoError(t, err)
		r, steps, _ := w.beginBack(Pace{})
		assert.Equal(t, "rollback-back-w3", steps[0].Name)
		ended, err := r.journal.Ended("rollback-back-w2", r.record.RollbackName())
		require.NoError(t, err)
		assert.True(t, ended)
		done, err := r.doneWorkers.Read()
		require.NoError(t, err)
		assert.Empty(t, done.Back)
	})
}
