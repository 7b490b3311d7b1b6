package verify

import (
	"slices"
	"strings"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"airgap.dev/airgap/verify/result"
)

// daemonSetTrouble does not rely on the status alone: the controller that writes it may have
// failed.
func daemonSetTrouble(v view, d *appsv1.DaemonSet) string {
	s := d.Status
	if s.ObservedGeneration < d.Generation {
		return unseen(d.Generation, s.ObservedGeneration)
	}
	updated := s.UpdatedNumberScheduled
	if d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		updated = s.DesiredNumberScheduled // the operator updates it by hand
	}
	saw := fewer(s.DesiredNumberScheduled, updated, s.NumberAvailable)
	if missing := nodesWithout(v, d); len(missing) > 0 {
		saw = append(saw, "no pod on "+result.Abbreviate(missing))
	}
	return strings.Join(saw, ", ")
}

// nodesWithout returns the nodes on which d should have a pod and has none. A pod that has
// ended does not count: the controller must create a new one.
func nodesWithout(v view, d *appsv1.DaemonSet) []string {
	has := map[string]bool{}
	for _, p := range by[*keptPod](v, pods, byOwner, string(d.UID)) {
		if !p.deleting && !p.over {
			has[p.node] = true
		}
	}
	var missing []string
	for _, node := range v.allNodes() {
		if !has[node.Name] && belongsOn(d, node) {
			missing = append(missing, node.Name)
		}
	}
	slices.Sort(missing)
	return missing
}

// belongsOn decides like the DaemonSet controller: by name, selector, affinity and taints, with
// the tolerations that every daemon pod gets.
func belongsOn(d *appsv1.DaemonSet, node *corev1.Node) bool {
	pod := &corev1.Pod{Spec: d.Spec.Template.Spec}
	if name := pod.Spec.NodeName; name != "" && name != node.Name {
		return false
	}
	if fits, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !fits {
		return false
	}
	tolerations := append(slices.Clone(pod.Spec.Tolerations), daemonTolerations(pod.Spec.HostNetwork)...)
	_, refused := scheduling.FindMatchingUntoleratedTaint(logr.Discard(), node.Spec.Taints, tolerations, keepsOut, false)
	return !refused
}

func keepsOut(t *corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
}

func daemonTolerations(hostNetwork bool) []corev1.Toleration {
	tolerate := func(key string, effect corev1.TaintEffect) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
	}
	all := []corev1.Toleration{
		tolerate(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
		tolerate(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute),
		tolerate(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule),
		tolerate(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
		tolerate(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule),
		tolerate(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
	}
	if hostNetwork {
		all = append(all, tolerate(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule))
	}
	return all
}
