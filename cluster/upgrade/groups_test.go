package upgrade

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/stop"
)

// TestThreeHundredWorkers: 300 workers that take five minutes each are upgraded within three hours at 10%. The first
// worker is alone, those with GPUs are last, and never more than a batch is cordoned.
func TestThreeHundredWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fleet300)
		began := time.Now()
		left, err := w.run(t.Context(), Pace{Batch: "10%"})
		require.NoError(t, err)
		assert.Nil(t, left)
		took := time.Since(began)
		assert.Less(t, took, 3*time.Hour)
		assert.Greater(t, took, 11*5*time.Minute)
		assert.Len(t, w.upgraded(), 300)
		assert.Equal(t, 30, w.most)
		assert.Empty(t, w.isCordoned())
		assert.Equal(t, "a001", w.order[0])
		for i, name := range w.order {
			assert.Equal(t, i >= 280, strings.HasPrefix(name, "gpu"), "%d: %s", i, name)
		}
		assert.Equal(t, "gpu01", w.order[280])
		assert.Equal(t, 13, w.compared) // 1 + 10 batches, 1 + 1 of GPUs
		assert.Contains(t, strings.Join(w.said.Said, "\n"), "about 1 h left for 299 workers, in batches of 30")
	})
}

// TestMaxUnavailable: workers that others have cordoned or that are not ready count, at every moment.
func TestMaxUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fleet300)
		nodes := w.client.CoreV1().Nodes()
		for _, name := range []string{"c080", "c079", "c078"} {
			node, err := nodes.Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(t, err)
			if name == "c080" {
				node.Spec.Unschedulable = true
			} else {
				node.Status.Conditions[0].Status = corev1.ConditionUnknown
			}
			_, err = nodes.Update(t.Context(), node, metav1.UpdateOptions{})
			require.NoError(t, err)
		}
		_, err := w.run(t.Context(), Pace{Batch: "10%", MaxUnavailable: 20, Hosts: 60})
		require.NoError(t, err)
		assert.Len(t, w.upgraded(), 60)
		assert.Equal(t, 17, w.most)
	})
}

// TestByRack: with upgrade.byRack no batch has workers of two racks.
func TestByRack(t *testing.T) {
	w := newWorld(t, fleet300)
	w.config.Upgrade.ByRack, w.config.Upgrade.Batch = true, "100%"
	_, steps := w.begin(Pace{})
	var names []string
	for _, s := range steps {
		if name, is := strings.CutPrefix(s.Name, "upgrade-"); is {
			names = append(names, name)
		}
	}
	assert.Equal(t, []string{"a001", "a[002-100]", "b[001-100]", "c[001-080]", "gpu01", "gpu[02-20]"}, names)
}

// TestCanary: the failure of the first worker leaves all others untouched.
func TestCanary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		w.bad["w1"] = errors.New("the disk is full")
		_, err := w.run(t.Context(), Pace{Batch: "3"})
		assert.ErrorContains(t, err, "step upgrade-w1: w1: the disk is full")
		assert.Equal(t, []string{"w1"}, w.order)
		assert.Empty(t, w.isCordoned(), "its kubelet works")
		assert.Contains(t, strings.Join(w.said.Said, "\n"), "w1 is uncordoned: its kubelet works")
	})
}

// TestMaxFailures: the upgrade goes on without permitted failures, which are owed. It does not end before they are
// upgraded, and the same command does that.
func TestMaxFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		w.bad["w3"], w.bad["w5"], w.dead["w5"] = errors.New("no space left"), errors.New("kernel panic"), true
		o := Pace{Batch: "3"}
		o.Choice.MaxFailures = 2
		_, err := w.run(t.Context(), o)
		require.ErrorContains(t, err, "2 of 7 other hosts left out, after a failure\n  w3: no space left\n  w5: kernel panic")
		assert.Equal(t, []string{"w1", "w2", "w4", "w6", "w7"}, w.upgraded())
		assert.Equal(t, []string{"w5"}, w.isCordoned(), "only the one whose kubelet does not work")
		assert.Equal(t, map[string]string{"w3": "no space left", "w5": "kernel panic"}, w.owes())

		clear(w.bad)
		clear(w.dead)
		w.order = nil
		left, err := w.run(t.Context(), o)
		require.NoError(t, err)
		assert.Nil(t, left)
		assert.ElementsMatch(t, []string{"w3", "w5"}, w.order)
		assert.Empty(t, w.isCordoned())
		assert.Empty(t, w.owes())
	})
}

// TestOneFailureTooMany ends the upgrade after the hosts in work.
func TestOneFailureTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		w.bad["w2"], w.bad["w3"] = errors.New("broken"), errors.New("broken")
		o := Pace{Batch: "3"}
		o.Choice.MaxFailures = 1
		_, err := w.run(t.Context(), o)
		assert.ErrorContains(t, err, "broken")
		assert.Equal(t, []string{"w1", "w4"}, w.upgraded())
		assert.Len(t, w.order, 4)
	})
}

// TestLeftOut: --except workers do not prevent the end, --limit leaves the others to a later run.
func TestLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		o := Pace{}
		o.Choice.Limit = []string{"w[1-2]"}
		left, err := w.run(t.Context(), o)
		require.NoError(t, err)
		assert.Equal(t, &Left{Why: "--limit", Hosts: []string{"w3", "w4", "w5", "w6", "w7"}, Of: 7, skew: left.skew}, left)
		assert.Equal(t, []string{"w1", "w2"}, w.upgraded())

		o.Choice.Limit, o.Choice.Except = nil, []string{"w4"}
		left, err = w.run(t.Context(), o)
		require.NoError(t, err)
		assert.Nil(t, left)
		assert.NotContains(t, w.upgraded(), "w4")

		o.Choice.Except, o.Choice.Limit = nil, []string{"w4"} // all others are done
		left, err = w.run(t.Context(), o)
		require.NoError(t, err)
		assert.Nil(t, left)
		assert.Len(t, w.upgraded(), 7)
	})
}

// TestUntil: no batch begins that would end too late, by the time of those before.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		end := time.Now().Add(13 * time.Minute).Truncate(time.Minute)
		left, err := w.run(t.Context(), Pace{Batch: "2", Until: end.Format("15:04")})
		require.NoError(t, err)
		assert.False(t, time.Now().After(end), "%s is after %s", time.Now(), end)
		assert.Equal(t, "--until "+end.Format("15:04")+": w[4-5] would take about 5 min", left.Why)
		assert.Equal(t, []string{"w4", "w5", "w6", "w7"}, left.Hosts)
		assert.Equal(t, []string{"w1", "w2", "w3"}, w.upgraded())
		assert.Equal(t, "the last run stopped: "+left.Why, w.owes()["w4"])

		left, err = w.run(t.Context(), Pace{Batch: "2"})
		require.NoError(t, err)
		assert.Nil(t, left)
		assert.Len(t, w.upgraded(), 7)
		assert.Empty(t, w.owes())
	})
}

// TestHosts: --hosts counts the workers of this run, and the next run continues with full batches.
func TestHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		left, err := w.run(t.Context(), Pace{Batch: "3", Hosts: 2})
		require.NoError(t, err)
		assert.Equal(t, "--hosts 2", left.Why)
		assert.Equal(t, []string{"w1", "w2"}, w.upgraded())
		_, steps := w.begin(Pace{Batch: "3"})
		assert.Equal(t, []string{"upgrade-w[3-5]", "compare-w[3-5]", "upgrade-w[6-7]", "compare-w[6-7]", "end"}, sitetest.StepNames(steps))
	})
}

// TestFirstCtrlC finishes the hosts in work with their comparison. The same command continues.
func TestFirstCtrlC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		ctx, signal := stop.With(t.Context())
		assert.False(t, signal.Ask(), "no host is in work")
		w.during = func(name string) {
			if name == "w3" {
				assert.True(t, signal.Ask())
			}
		}
		_, err := w.run(ctx, Pace{Batch: "3"})
		require.ErrorIs(t, err, stop.ErrInterrupted)
		assert.ErrorContains(t, err, "stopped (Ctrl-C): 3 of 7 hosts left: w[5-7]")
		assert.Equal(t, []string{"w1", "w2", "w3", "w4"}, w.upgraded())
		assert.Equal(t, 2, w.compared)
		assert.Empty(t, w.isCordoned())
		assert.Contains(t, strings.Join(w.said.Said, "\n"), "A second Ctrl-C stops at once")

		w.during = nil
		left, err := w.run(t.Context(), Pace{Batch: "3"})
		require.NoError(t, err)
		assert.Nil(t, left)
		assert.Len(t, w.order, 7, "no worker was upgraded twice")
	})
}

// TestKilledInABatch: the next run does not repeat the workers of a batch that were done, and compares the cluster for
// them first.
func TestKilledInABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		ctx, kill := context.WithCancel(t.Context())
		w.during = func(name string) {
			if name == "w4" {
				time.AfterFunc(time.Minute, kill)
			}
		}
		node, err := w.client.CoreV1().Nodes().Get(ctx, "w7", metav1.GetOptions{})
		require.NoError(t, err)
		node.Status.Conditions[0].Status = corev1.ConditionUnknown // so the batch has two in work at a time
		_, err = w.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		require.NoError(t, err)
		o := Pace{Batch: "3", MaxUnavailable: 3}
		_, err = w.run(ctx, o)
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, []string{"w1", "w2", "w3"}, w.upgraded())
		assert.Equal(t, []string{"w4"}, w.isCordoned())

		w.during, w.order = nil, nil
		_, steps := w.begin(o)
		assert.Equal(t, []string{"upgrade-w[2-3]", "compare-w[2-3]", "upgrade-w[4-6]", "compare-w[4-6]", "upgrade-w7", "compare-w7", "end"}, sitetest.StepNames(steps))
		_, err = w.run(t.Context(), o)
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{"w4", "w5", "w6", "w7"}, w.order)
		assert.Empty(t, w.isCordoned())
	})
}

// TestKilledBeforeTheComparison: workers that are upgraded and not compared have their steps again.
func TestKilledBeforeTheComparison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		u, steps := w.begin(Pace{Batch: "3"})
		_, err := step.Run(t.Context(), u.journal, steps[:3], func(step.Event) {}) // w1, its comparison, w[2-4]
		require.NoError(t, err)
		u.pace.end()
		_, steps = w.begin(Pace{Batch: "3"})
		assert.Equal(t, []string{"upgrade-w[2-4]", "compare-w[2-4]", "upgrade-w[5-7]", "compare-w[5-7]", "end"}, sitetest.StepNames(steps))
	})
}

// TestStepsOfAnOlderVersion: with one worker at a time, the names are those of older versions, whose journal counts.
func TestStepsOfAnOlderVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		u, steps := w.begin(Pace{})
		want := []string{}
		for i := 1; i <= 7; i++ {
			want = append(want, fmt.Sprintf("upgrade-w%d", i), fmt.Sprintf("compare-w%d", i))
		}
		assert.Equal(t, append(want, "end"), sitetest.StepNames(steps))
		_, err := step.Run(t.Context(), u.journal, steps[:3], func(step.Event) {})
		require.NoError(t, err)
		u.pace.end()
		done, err := u.doneWorkers.Read()
		require.NoError(t, err)
		assert.Empty(t, done.Compared, "the journal is enough")
		_, steps = w.begin(Pace{})
		assert.Equal(t, append(want[2:], "end"), sitetest.StepNames(steps))
	})
}
