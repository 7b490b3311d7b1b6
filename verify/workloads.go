package verify

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
)

// namespaces are those of the system.
type namespaces []string

func (n namespaces) has(namespace string) bool    { return slices.Contains(n, namespace) }
func (n namespaces) hasNot(namespace string) bool { return !slices.Contains(n, namespace) }

func systemWorkloads(system namespaces, required []string) rule {
	return rule{
		id: "system-workloads", title: "System workloads are complete and up to date",
		watches: []kind{daemonSets, deployments, statefulSets, nodes, pods},
		judge:   func(v view) []Finding { return judgeWorkloads(v, system.has, required) },
	}
}

func otherWorkloads(system namespaces) rule {
	return rule{
		id: "workloads", title: "All other workloads are complete and up to date",
		watches: []kind{daemonSets, deployments, statefulSets, pods}, also: []kind{nodes},
		judge: func(v view) []Finding { return judgeWorkloads(v, system.hasNot, nil) },
	}
}

// judgeWorkloads wants every workload of the namespaces that are judged to be
// complete, and each required one ("Kind namespace/name") to be there at all.
func judgeWorkloads(v view, judged func(namespace string) bool, required []string) []Finding {
	seen := map[string]string{} // workload → what is wrong with it
	for _, d := range all[*appsv1.DaemonSet](v, daemonSets) {
		if judged(d.Namespace) {
			seen["DaemonSet "+d.Namespace+"/"+d.Name] = daemonSetTrouble(v, d)
		}
	}
	for _, d := range all[*appsv1.Deployment](v, deployments) {
		if judged(d.Namespace) {
			seen["Deployment "+d.Namespace+"/"+d.Name] = deploymentTrouble(d)
		}
	}
	for _, s := range all[*appsv1.StatefulSet](v, statefulSets) {
		if judged(s.Namespace) {
			seen["StatefulSet "+s.Namespace+"/"+s.Name] = statefulSetTrouble(s)
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

func deploymentTrouble(d *appsv1.Deployment) string {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	s := d.Status
	if s.ObservedGeneration < d.Generation {
		return unseen(d.Generation, s.ObservedGeneration)
	}
	saw := fewer(want, s.UpdatedReplicas, s.AvailableReplicas)
	if old := s.Replicas - s.UpdatedReplicas; old > 0 {
		saw = append(saw, fmt.Sprintf("%d of the version before still there", old))
	}
	return strings.Join(saw, ", ")
}

// statefulSetTrouble takes one that is updated by hand (OnDelete) as it is, and
// one with a partition up to that.
func statefulSetTrouble(s *appsv1.StatefulSet) string {
	want := int32(1)
	if s.Spec.Replicas != nil {
		want = *s.Spec.Replicas
	}
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
	return fmt.Sprintf("its controller has not seen its newest specification (generation %d, seen %d)", generation, observed)
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
