package verify

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/verify/nodestate"
)

// stoppedEarly reports whether a pod succeeded although it should run permanently. The kubelet of a
// host that shuts down leaves such pods.
func stoppedEarly(p *corev1.Pod) bool {
	if p.Status.Phase != corev1.PodSucceeded {
		return false
	}
	for _, s := range p.Status.ContainerStatuses {
		if !isRestarted(p, s.Name) {
			return false
		}
	}
	return isRestarted(p, "")
}

// endOf returns when a pod ended, by the clock of its host: the last time in its conditions and
// containers. Without any, it returns the creation time, by the clock of an API server.
func endOf(p *corev1.Pod) time.Time {
	var at time.Time
	for _, c := range p.Status.Conditions {
		at = later(at, c.LastTransitionTime.Time)
	}
	for s, as := range containersOf(p) {
		if s.State.Terminated != nil && as != debugging {
			at = later(at, s.State.Terminated.FinishedAt.Time)
		}
	}
	if at.IsZero() {
		return p.CreationTimestamp.Time
	}
	return at
}

// podFailure returns why a pod as a whole failed; "": its containers have the cause.
func podFailure(p *corev1.Pod) string {
	switch {
	case p.Status.Reason == "" && p.Status.Message == "":
		return ""
	case p.Status.Reason == "Evicted":
		return "evicted from " + p.Spec.NodeName + ": " + nodestate.Because("", p.Status.Message)
	case p.Spec.NodeName == "":
		return "failed: " + nodestate.Because(p.Status.Reason, p.Status.Message)
	default:
		return "failed on " + p.Spec.NodeName + ": " + nodestate.Because(p.Status.Reason, p.Status.Message)
	}
}

// endTrouble returns why an ended pod has not done its work, or "".
func endTrouble(p *corev1.Pod) string {
	switch {
	case p.Status.Phase == corev1.PodSucceeded && stoppedEarly(p):
		return "it succeeded, but it should run permanently"
	case p.Status.Phase != corev1.PodFailed:
		return ""
	case p.Status.Reason != "" || p.Status.Message != "":
		return "failed: " + nodestate.Because(p.Status.Reason, p.Status.Message)
	}
	for s, as := range containersOf(p) {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 && as != debugging && as != sidecar {
			return "failed: container " + s.Name + ": " + ended(t)
		}
	}
	return "failed: " + nodestate.Because("", "")
}

// successors has, by owner, the creation time of its newest healthy pod.
type successors struct {
	view   view
	ahead  time.Duration // of the clocks that date the creation of pods
	newest map[string]uint32
}

func (v view) successors() successors {
	_, ahead := v.serversAhead()
	return successors{v, ahead, map[string]uint32{}}
}

// replaced reports whether an ended pod has a successor: a healthy pod of the same owner that
// was created after the end. An API server dates the creation and a host the end, both in whole
// seconds.
func (s successors) replaced(p *keptPod) bool {
	owner := p.from.Value().owner
	newest, known := s.newest[owner]
	if !known {
		for _, other := range by[*keptPod](s.view, pods, byOwner, owner) {
			if other.problem == nil && !other.deleting {
				newest = max(newest, other.created)
			}
		}
		s.newest[owner] = newest
	}
	over, _ := s.view.localTime(leaseOf(p.node), p.rare.over)
	made := time.Unix(int64(newest)+1, 0).Add(-s.ahead)
	return made.After(over) && newest > p.created
}
