package verify

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/nodestate"
)

// namespaces are the system namespaces.
type namespaces []string

func (n namespaces) has(namespace string) bool    { return slices.Contains(n, namespace) }
func (n namespaces) hasNot(namespace string) bool { return !slices.Contains(n, namespace) }

func systemWorkloads(system namespaces, required []string) rule {
	return rule{
		id: "system-workloads", title: "System workloads are complete and up to date",
		watches: []kind{daemonSets, deployments, statefulSets, replicaSets, nodes, pods},
		judge:   func(v view) []Finding { return judgeWorkloads(v, system.has, required) },
	}
}

func otherWorkloads(system namespaces) rule {
	return rule{
		id: "workloads", title: "All other workloads are complete and up to date",
		watches: []kind{daemonSets, deployments, statefulSets, replicaSets, pods}, also: []kind{nodes},
		judge: func(v view) []Finding { return judgeWorkloads(v, system.hasNot, nil) },
	}
}

// judgeWorkloads requires that every workload in the checked namespaces is complete, and that each
// required one ("Kind namespace/name") exists.
func judgeWorkloads(v view, judged func(namespace string) bool, required []string) []Finding {
	seen := map[string]string{} // workload → problem
	for _, w := range v.workloads() {
		if judged(w.GetNamespace()) {
			seen[w.name()] = w.wrong(v, slices.Contains(required, w.name()))
		}
	}
	for _, name := range required {
		if _, there := seen[name]; !there {
			seen[name] = "it does not exist"
		}
	}
	var findings []Finding
	for name, saw := range seen {
		if saw != "" {
			findings = append(findings, Finding{
				Object: name, Saw: saw, Want: "every pod updated and available",
				Fix: workloadFix(name),
			})
		}
	}
	return findings
}

// workload is an object that controls a number of pods.
type workload struct {
	metav1.Object

	kind    string
	trouble func(view) string
}

func (w workload) name() string { return w.kind + " " + w.GetNamespace() + "/" + w.GetName() }

// wrong leaves a deleted workload to the rule terminating, unless it is required.
func (w workload) wrong(v view, required bool) string {
	switch {
	case w.GetDeletionTimestamp() == nil:
		return w.trouble(v)
	case required:
		return "it is being deleted"
	default:
		return ""
	}
}

// workloads returns all workloads of the cluster. A ReplicaSet of a Deployment is not listed.
func (v view) workloads() []workload {
	var list []workload
	for _, d := range all[*appsv1.DaemonSet](v, daemonSets) {
		list = append(list, workload{d, "DaemonSet", func(v view) string { return daemonSetTrouble(v, d) }})
	}
	for _, d := range all[*appsv1.Deployment](v, deployments) {
		list = append(list, workload{d, "Deployment", func(view) string { return deploymentTrouble(d) }})
	}
	for _, s := range all[*appsv1.StatefulSet](v, statefulSets) {
		list = append(list, workload{s, "StatefulSet", func(view) string { return statefulSetTrouble(s) }})
	}
	for _, r := range all[*appsv1.ReplicaSet](v, replicaSets) {
		list = append(list, workload{r, "ReplicaSet", func(view) string { return replicaSetTrouble(r) }})
	}
	return list
}

// keptInside is a ReplicaSet of a Deployment. The Deployment keeps ten old ones and is checked
// instead.
type keptInside struct{ objectMeta }

// keepReplicaSet checks the owner. An orphaned ReplicaSet still has the labels of its Deployment.
func keepReplicaSet(o *appsv1.ReplicaSet) any {
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil && owner.Kind == "Deployment" {
		return &keptInside{metaOf(o.ObjectMeta)}
	}
	o.ObjectMeta = identity(o.ObjectMeta)
	o.Spec = appsv1.ReplicaSetSpec{Replicas: o.Spec.Replicas}
	return o
}

// deploymentTrouble treats a paused Deployment as updated: its rollout is stopped on purpose.
func deploymentTrouble(d *appsv1.Deployment) string {
	want, s := wanted(d.Spec.Replicas), d.Status
	if s.ObservedGeneration < d.Generation {
		return unseen(d.Generation, s.ObservedGeneration)
	}
	updated, old := s.UpdatedReplicas, s.Replicas-s.UpdatedReplicas
	if d.Spec.Paused {
		updated, old = want, 0
	}
	saw := fewer(want, updated, s.AvailableReplicas)
	if old > 0 {
		saw = append(saw, fmt.Sprintf("%d pods of the old version still exist", old))
	}
	if len(saw) == 0 {
		return ""
	}
	for _, c := range s.Conditions {
		stands := c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue
		if stands || c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse {
			saw = append(saw, nodestate.Because(c.Reason, c.Message))
		}
	}
	return strings.Join(saw, ", ")
}

// replicaSetTrouble checks a ReplicaSet without a Deployment.
func replicaSetTrouble(r *appsv1.ReplicaSet) string {
	want, s := wanted(r.Spec.Replicas), r.Status
	if s.ObservedGeneration < r.Generation {
		return unseen(r.Generation, s.ObservedGeneration)
	}
	saw := fewer(want, want, s.AvailableReplicas)
	for _, c := range s.Conditions {
		if len(saw) > 0 && c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
			saw = append(saw, nodestate.Because(c.Reason, c.Message))
		}
	}
	return strings.Join(saw, ", ")
}

// statefulSetTrouble ignores updates of a StatefulSet with OnDelete, and updates beyond a
// partition.
func statefulSetTrouble(s *appsv1.StatefulSet) string {
	want := wanted(s.Spec.Replicas)
	if s.Status.ObservedGeneration < s.Generation {
		return unseen(s.Generation, s.Status.ObservedGeneration)
	}
	updated := want
	if u := s.Spec.UpdateStrategy; u.Type == appsv1.OnDeleteStatefulSetStrategyType {
		updated = 0
	} else if u.RollingUpdate != nil && u.RollingUpdate.Partition != nil {
		updated = max(0, want-*u.RollingUpdate.Partition)
	}
	var saw []string
	if got := s.Status.UpdatedReplicas; got < updated && s.Status.CurrentRevision != s.Status.UpdateRevision {
		saw = append(saw, fmt.Sprintf("%d of %d pods updated", got, updated))
	}
	if got := s.Status.AvailableReplicas; got < want {
		saw = append(saw, fmt.Sprintf("%d of %d pods available", got, want))
	}
	return strings.Join(saw, ", ")
}

func unseen(generation, observed int64) string {
	return fmt.Sprintf("its controller has not observed its newest specification (generation %d, observed %d)", generation, observed)
}

func fewer(want, updated, available int32) []string {
	var saw []string
	if updated < want {
		saw = append(saw, fmt.Sprintf("%d of %d pods updated", updated, want))
	}
	if available < want {
		saw = append(saw, fmt.Sprintf("%d of %d pods available", available, want))
	}
	return saw
}

func workloadFix(workload string) string {
	kind, name, _ := strings.Cut(workload, " ")
	namespace, name, _ := strings.Cut(name, "/")
	return fmt.Sprintf("kubectl -n %s describe %s %s", namespace, strings.ToLower(kind), name)
}
