package verify

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNothingSince(t *testing.T) {
	since := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	before, after := metav1.NewTime(since.Add(-time.Minute)), metav1.NewTime(since.Add(time.Minute))
	turned := func(at, made metav1.Time) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.CreationTimestamp, n.Status.Conditions[1].LastTransitionTime = made, at
		}
	}
	last := func(at metav1.Time, code int32, reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].RestartCount = 2
			p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: at}
		}
	}
	now := func(at metav1.Time, code int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Done", FinishedAt: at}}
		}
	}
	evicted := func(at metav1.Time) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
			p.Status.Conditions[1].LastTransitionTime = at
		}
	}
	got := nothingSince(since).judge(seen(t,
		node("quiet", corev1.ConditionTrue, turned(before, before)),
		node("turned", corev1.ConditionTrue, turned(after, before)),
		node("joined", corev1.ConditionTrue, turned(after, after)),
		pod("a", "killed", "w1", last(after, 137, "OOMKilled")),
		pod("a", "killed-long-ago", "w1", last(before, 137, "OOMKilled")),
		pod("a", "started-again", "w1", last(after, 0, "Completed")),
		pod("a", "failed", "w1", now(after, 3)),
		pod("a", "job-done", "w1", now(after, 0)),
		pod("a", "sidecar-stopped", "w1", onFailure, now(after, 0), succeeded, withSidecar(terminated(143, after.Time))),
		pod("a", "sidecar-stopping", "w1", onFailure, now(after, 0), withSidecar(terminated(137, after.Time))),
		pod("a", "deleted", "w1", now(after, 143), deletedAfter(since)),
		pod("a", "ended-before-it-was-deleted", "w1", now(after, 1), deletedAfter(after.Add(time.Second))),
		pod("a", "debugged", "w1", withEphemeral(terminated(1, after.Time))),
		pod("a", "no-room", "w1", func(p *corev1.Pod) { evicted(after)(p); p.Status.Reason = "OutOfcpu" }),
		pod("a", "evicted", "w1", evicted(after)),
		pod("a", "evicted-long-ago", "w1", evicted(before)),
	))
	for _, f := range got {
		if !f.Since.Equal(after.Time) || f.Fix == "" {
			t.Errorf("%s: since %s, want %s; fix %q", f.Object, f.Since, after, f.Fix)
		}
	}
	wantSaw(t, got,
		Finding{Object: "Node turned", Saw: "its Ready condition changed to True: KubeletReady"},
		Finding{Object: "Pod a/killed", Saw: "container main: it ended with exit code 137 (OOMKilled); restarted, restart count 2"},
		Finding{Object: "Pod a/started-again", Saw: "container main: it ended with exit code 0 (Completed); restarted, restart count 2"},
		Finding{Object: "Pod a/failed", Saw: "container main: it ended with exit code 3 (Done)"},
		Finding{Object: "Pod a/ended-before-it-was-deleted", Saw: "container main: it ended with exit code 1 (Done)"},
		Finding{Object: "Pod a/no-room", Saw: "failed on w1: OutOfcpu: The node was low on resource: memory."},
		Finding{Object: "Pod a/evicted", Saw: "evicted from w1: The node was low on resource: memory."})
}

// TestSinceByHostsClocks: hosts with wrong clocks date failures of half an hour ago.
func TestSinceByHostsClocks(t *testing.T) {
	now := time.Now()
	ended := func(ago time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: metav1.NewTime(now.Add(-ago))}
		}
	}
	made := func(ago time.Duration) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.CreationTimestamp, n.Status.Conditions[1].LastTransitionTime = metav1.NewTime(now.Add(-ago)), metav1.NewTime(now.Add(-ago-time.Minute))
		}
	}
	v := seen(t,
		node("cp1", corev1.ConditionTrue, controlPlaneNode, made(24*time.Hour)),
		node("behind", corev1.ConditionTrue, made(24*time.Hour)), node("ahead", corev1.ConditionTrue, made(24*time.Hour)),
		pod("a", "just-now", "behind", ended(65*time.Minute)), pod("a", "long-ago", "ahead", ended(-time.Minute)))
	if e := expectSince(v); e.missing == "" {
		t.Error("no clock is known, but it is not too soon to tell")
	}
	for host, ahead := range map[string]time.Duration{"cp1": 0, "behind": -time.Hour, "ahead": time.Hour} {
		v.heartbeats.take(leaseOf(host), now.Add(ahead), now, now)
	}
	if e := expectSince(v); e != (expectation{}) {
		t.Errorf("all clocks are known: %+v", e)
	}
	wantSaw(t, nothingSince(now.Add(-30*time.Minute)).judge(v),
		Finding{Object: "Pod a/just-now", Saw: "container main: it ended with exit code 1 (Error); restarted, restart count 0"})
}

// deletedAfter deletes the pod at a time, with a grace period of 30 seconds.
func deletedAfter(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		until, grace := metav1.NewTime(at.Add(30*time.Second)), int64(30)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &until, &grace
	}
}
