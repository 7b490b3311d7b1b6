package verify

import (
	"fmt"
	"slices"

	"airgap.dev/airgap/verify/result"
)

// baselineExists requires every node and workload of the baseline.
func baselineExists(b *result.Baseline) rule {
	return rule{
		id: "baseline", title: "Nodes and workloads of the baseline exist", watches: []kind{daemonSets, deployments, statefulSets}, also: []kind{nodes},
		judge: func(v view) []Finding {
			return append(
				missingObjects(b.Snapshot.Nodes, v.nodeStates(), "Node ", "join the node again: airgap join; if it was removed on purpose, save a new baseline"),
				missingObjects(b.Snapshot.Workloads, v.workloadStates(), "", "install it again; if it was removed on purpose, save a new baseline")...)
		},
		expects: func(view) expectation {
			return expectation{nothing: needs(len(b.Snapshot.Nodes)+len(b.Snapshot.Workloads) > 0, "the baseline has no nodes and no workloads")}
		},
	}
}

func missingObjects[T any](before, now map[string]T, prefix, fix string) []Finding {
	var findings []Finding
	for name := range before {
		if _, there := now[name]; !there {
			findings = append(findings, Finding{Object: prefix + name, Saw: "it no longer exists", Want: "it exists, as in the baseline", Fix: fix})
		}
	}
	return findings
}

// noRestarts requires that no long-running container restarted since the baseline.
func noRestarts(b *result.Baseline) rule {
	return rule{
		id: "restarts", title: "No container restarted since the baseline", watches: []kind{pods}, also: []kind{nodes}, stays: true,
		judge: func(v view) []Finding { return restarts(b.Snapshot, v) },
		expects: func(v view) expectation {
			return expectation{nothing: needs(v.count(pods) > 0, "the cluster has no pods")}
		},
	}
}

func restarts(before result.Snapshot, v view) []Finding {
	var findings []Finding
	rebooted := result.Rebooted(before.Nodes, v.nodeStates())
	for name, state := range v.containerStates() {
		total, in := int32(0), []string{}
		for key, pod := range state.Pods {
			if n := pod.RestartsSince(before.Containers[name].Pods[key], rebooted[pod.Node]); n > 0 {
				total += n
				in = append(in, pod.Name)
			}
		}
		if total > 0 {
			slices.Sort(in)
			findings = append(findings, Finding{
				Object: name, Saw: fmt.Sprintf("%s since the baseline, in %s", result.Plural(int(total), "restart"), result.Abbreviate(in)), Want: "none",
				Fix: "for each of these pods: kubectl logs --previous POD; kubectl describe pod POD",
			})
		}
	}
	return findings
}
