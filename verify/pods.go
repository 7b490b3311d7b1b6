package verify

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/nodestate"
)

func systemPods(system namespaces) rule {
	return rule{
		id: "system-pods", title: "System pods run and are ready", watches: []kind{pods}, also: []kind{nodes, leases}, in: metav1.NamespaceSystem,
		judge: func(v view) []Finding { return judgePods(v, system.has) },
	}
}

func otherPods(system namespaces) rule {
	return rule{
		id: "pods", title: "All other pods run and are ready", watches: []kind{pods}, also: []kind{nodes, leases},
		judge: func(v view) []Finding { return judgePods(v, system.hasNot) },
	}
}

// judgePods reads only the pods with a problem, however many others exist.
func judgePods(v view, judged func(namespace string) bool) []Finding {
	var findings []Finding
	successors := v.successors()
	for _, p := range by[*keptPod](v, pods, byTrouble, "yes") {
		if judged(p.namespace) && (!p.problem.unlessReplaced || !successors.replaced(p)) {
			findings = append(findings, Finding{Object: p.title("Pod"), Saw: p.problem.why, Want: "running and ready", Fix: p.problem.fix})
		}
	}
	return findings
}

// troubleOf returns why a pod does not do its work, or nil. It returns nil for pods that have
// finished or are being deleted, and for ended pods if a rule checks their controller.
func troubleOf(pod *corev1.Pod, from origin) *trouble {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	var why string
	switch {
	case pod.DeletionTimestamp != nil, ended && from.judged:
		return nil
	case ended:
		why = endTrouble(pod)
	default:
		why = liveTrouble(pod)
	}
	if why == "" {
		return nil
	}
	return &trouble{why, podFix(pod), ended && from.owner != "" && from.kind != "Node"}
}

// liveTrouble returns the problem of a pod that has not ended.
func liveTrouble(pod *corev1.Pod) string {
	if c, found := condition(pod, corev1.PodScheduled); found && c.Status != corev1.ConditionTrue {
		if c.Reason == corev1.PodReasonSchedulingGated {
			return "" // held on purpose until its scheduling gate is removed
		}
		return "not scheduled: " + nodestate.Because(c.Reason, c.Message)
	}
	finished := finished(pod)
	for status, as := range containersOf(pod) {
		if as == debugging || as == sidecar && finished {
			continue
		}
		if saw := containerTrouble(status); saw != "" {
			return "container " + status.Name + ": " + saw
		}
	}
	if c, found := condition(pod, corev1.PodReady); (!found || c.Status != corev1.ConditionTrue) && !finished && !othersReady(pod) {
		return fmt.Sprintf("%s, not ready: %s", pod.Status.Phase, nodestate.Because(c.Reason, c.Message))
	}
	return ""
}

// othersReady reports whether a pod is unready only because some containers have finished: all
// others are ready, and its readiness gates are open.
func othersReady(pod *corev1.Pod) bool {
	someDone := false
	for s, as := range containersOf(pod) {
		switch {
		case as == ordinary && done(pod, s):
			someDone = true
		case (as == ordinary || as == sidecar) && !s.Ready:
			return false
		}
	}
	return someDone && !slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool {
		c, found := condition(pod, g.ConditionType)
		return !found || c.Status != corev1.ConditionTrue
	})
}

func condition(pod *corev1.Pod, of corev1.PodConditionType) (corev1.PodCondition, bool) {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == of })
	if i < 0 {
		return corev1.PodCondition{}, false
	}
	return pod.Status.Conditions[i], true
}

func podFix(pod *corev1.Pod) string {
	for status, as := range containersOf(pod) {
		if w := status.State.Waiting; w != nil && as != debugging {
			switch w.Reason {
			case "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable":
				return "airgap registry status; check that " + status.Image + " is in the bundle"
			case "CrashLoopBackOff":
				return fmt.Sprintf("kubectl -n %s logs %s -c %s --previous", pod.Namespace, pod.Name, status.Name)
			}
		}
	}
	return fmt.Sprintf("kubectl -n %s describe pod %s", pod.Namespace, pod.Name)
}
