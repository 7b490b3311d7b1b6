package verify

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
)

func systemWorkloads(namespaces, required []string) rule {
	return rule{
		id: "system-workloads", title: "System workloads are complete and up to date",
		watches: []kind{daemonSets, deployments, nodes, pods},
		judge:   func(v view) []Finding { return judgeWorkloads(v, namespaces, required) },
	}
}

// judgeWorkloads wants every workload of the namespaces to be complete, and
// each required one ("Kind namespace/name") to be there at all.
func judgeWorkloads(v view, namespaces, required []string) []Finding {
	seen := map[string]string{} // workload → what is wrong with it
	for _, namespace := range namespaces {
		for _, d := range v.daemonSetsIn(namespace) {
			seen["DaemonSet "+namespace+"/"+d.Name] = daemonSetTrouble(v, d)
		}
		for _, d := range v.deploymentsIn(namespace) {
			seen["Deployment "+namespace+"/"+d.Name] = deploymentTrouble(d)
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
