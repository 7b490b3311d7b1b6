package verify

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// brokeOff tells whether a pod has ended well although it should run for good: the
// kubelet of a host that shuts down leaves some so.
func brokeOff(p *corev1.Pod) bool {
	if p.Status.Phase != corev1.PodSucceeded {
		return false
	}
	for _, s := range p.Status.ContainerStatuses {
		if !comesBack(p, s.Name) {
			return false
		}
	}
	return comesBack(p, "")
}

// endOf is when a pod ended, by its host's clock: the last that its conditions and containers
// know of. Where they know of nothing it is when the pod was made, by an API server's.
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

// fell is how a failed pod as a whole came to its end; "" where its containers tell it.
func fell(p *corev1.Pod) string {
	switch {
	case p.Status.Reason == "" && p.Status.Message == "":
		return ""
	case p.Status.Reason == "Evicted":
		return "evicted from " + p.Spec.NodeName + ": " + because("", p.Status.Message)
	case p.Spec.NodeName == "":
		return "failed: " + because(p.Status.Reason, p.Status.Message)
	default:
		return "failed on " + p.Spec.NodeName + ": " + because(p.Status.Reason, p.Status.Message)
	}
}

// endTrouble is why a pod that has ended does not do its work, "" where it has done it.
func endTrouble(p *corev1.Pod) string {
	switch {
	case p.Status.Phase == corev1.PodSucceeded && brokeOff(p):
		return "it ended with success, and should run for good"
	case p.Status.Phase != corev1.PodFailed:
		return ""
	case p.Status.Reason != "" || p.Status.Message != "":
		return "failed: " + because(p.Status.Reason, p.Status.Message)
	}
	for s, as := range containersOf(p) {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 && as != debugging && as != sidecar {
			return "failed: container " + s.Name + ": " + ended(t)
		}
	}
	return "failed: " + because("", "")
}

// successors remembers of each owner when its newest good pod was made.
type successors struct {
	view   view
	ahead  time.Duration // of the clocks by which pods are made
	newest map[string]uint32
}

func (v view) successors() successors {
	return successors{v, v.serversAhead(), map[string]uint32{}}
}

// replaced tells whether a pod that ended has a successor: one of the same owner that was
// made after the end, and runs or has done its work. An API server dates the one and a host
// the other, in whole seconds.
func (s successors) replaced(p *keptPod) bool {
	owner := p.from.Value().owner
	newest, known := s.newest[owner]
	if !known {
		for _, other := range by[*keptPod](s.view, pods, byOwner, owner) {
			if other.unwell == nil && !other.going {
				newest = max(newest, other.created)
			}
		}
		s.newest[owner] = newest
	}
	over, _ := s.view.ours(leaseOf(p.node), p.rare.over)
	made := time.Unix(int64(newest)+1, 0).Add(-s.ahead)
	return made.After(over) && newest > p.created
}
