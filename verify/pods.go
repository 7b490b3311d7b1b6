package verify

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func systemPods(system namespaces) rule {
	return rule{
		id: "system-pods", title: "System pods run and are ready", watches: []kind{pods}, in: metav1.NamespaceSystem,
		judge: func(v view) []Finding { return judgePods(v, system.has) },
	}
}

func otherPods(system namespaces) rule {
	return rule{
		id: "pods", title: "All other pods run and are ready", watches: []kind{pods},
		judge: func(v view) []Finding { return judgePods(v, system.hasNot) },
	}
}

// judgePods looks only at those which have a trouble of their own, however
// many others there are.
func judgePods(v view, judged func(namespace string) bool) []Finding {
	var findings []Finding
	for _, p := range by[*keptPod](v, pods, byTrouble, "yes") {
		if judged(p.namespace) {
			findings = append(findings, Finding{Object: p.title("Pod"), Saw: p.unwell.why, Want: "running and ready", Fix: p.unwell.fix})
		}
	}
	return findings
}

// troubleOf says why a pod does not do its work, or "". Pods that have done it,
// are going, or were replaced by their controller are no trouble.
func troubleOf(pod *corev1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil, pod.Status.Phase == corev1.PodSucceeded:
		return ""
	case pod.Status.Phase == corev1.PodFailed:
		if metav1.GetControllerOfNoCopy(pod) != nil {
			return "" // its controller is judged instead
		}
		return "failed: " + because(pod.Status.Reason, pod.Status.Message)
	}
	if c, found := condition(pod, corev1.PodScheduled); found && c.Status != corev1.ConditionTrue {
		return "not scheduled: " + because(c.Reason, c.Message)
	}
	for _, status := range statuses(pod) {
		if saw := containerTrouble(status); saw != "" {
			return "container " + status.Name + ": " + saw
		}
	}
	if c, found := condition(pod, corev1.PodReady); !found || c.Status != corev1.ConditionTrue {
		return fmt.Sprintf("%s, not ready: %s", pod.Status.Phase, because(c.Reason, c.Message))
	}
	return ""
}

// containerTrouble says why a container does not run although it should.
func containerTrouble(s corev1.ContainerStatus) string {
	if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
		return ended(t)
	}
	w := s.State.Waiting
	if w == nil || w.Reason == "PodInitializing" {
		return "" // an init container says more
	}
	saw := because(w.Reason, w.Message)
	if t := s.LastTerminationState.Terminated; t != nil {
		saw += "; before that " + ended(t)
	}
	return saw
}

// ended has the last line of the message alone: it may be the end of a log, up to 2048 bytes
// (terminationMessagePolicy FallbackToLogsOnError).
func ended(t *corev1.ContainerStateTerminated) string {
	message := strings.TrimSpace(t.Message)
	last := strings.TrimSpace(message[strings.LastIndex(message, "\n")+1:])
	return fmt.Sprintf("it ended with exit code %d (%s)", t.ExitCode, because(t.Reason, last))
}

func condition(pod *corev1.Pod, of corev1.PodConditionType) (corev1.PodCondition, bool) {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == of })
	if i < 0 {
		return corev1.PodCondition{}, false
	}
	return pod.Status.Conditions[i], true
}

func podFix(pod *corev1.Pod) string {
	for _, status := range statuses(pod) {
		if w := status.State.Waiting; w != nil {
			switch w.Reason {
			case "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable":
				return "airgap registry status; is " + status.Image + " in the bundle?"
			case "CrashLoopBackOff":
				return fmt.Sprintf("kubectl -n %s logs %s -c %s --previous", pod.Namespace, pod.Name, status.Name)
			}
		}
	}
	return fmt.Sprintf("kubectl -n %s describe pod %s", pod.Namespace, pod.Name)
}
