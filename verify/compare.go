package verify

import (
	"fmt"
	"slices"

	"airgap.dev/airgap/verify/result"
)

// stillThere wants every node and workload that the baseline had.
func stillThere(b *result.Baseline) rule {
	return rule{
		id: "baseline", title: "Nodes and workloads of the baseline are still there", watches: []kind{daemonSets, deployments, statefulSets}, also: []kind{nodes},
		judge: func(v view) []Finding {
			return append(
				vanished(b.Snapshot.Nodes, v.nodeStates(), "Node ", "airgap join brings a node back; one that was taken out on purpose needs a new baseline"),
				vanished(b.Snapshot.Workloads, v.workloadStates(), "", "install it again; where it was removed on purpose, save a new baseline")...)
		},
		expects: func(view) expectation {
			return expectation{nothing: needs(len(b.Snapshot.Nodes)+len(b.Snapshot.Workloads) > 0, "the baseline has neither nodes nor workloads")}
		},
	}
}

func vanished[T any](before, now map[string]T, prefix, fix string) []Finding {
	var findings []Finding
	for name := range before {
		if _, there := now[name]; !there {
			findings = append(findings, Finding{Object: prefix + name, Saw: "it does not exist any more", Want: "there, as in the baseline", Fix: fix})
		}
	}
	return findings
}

// noRestarts wants no container that runs for good to have been started again
// since the baseline.
func noRestarts(b *result.Baseline) rule {
	return rule{
		id: "restarts", title: "No container restarted since the baseline", watches: []kind{pods}, also: []kind{nodes}, stays: true,
		judge: func(v view) []Finding { return restarts(b.Snapshot, v) },
		expects: func(v view) expectation {
			return expectation{nothing: needs(v.count(pods) > 0, "there is no pod")}
		},
	}
}

func restarts(before result.Snapshot, v view) []Finding {
	var findings []Finding
	rebooted := rebooted(before.Nodes, v.nodeStates())
	for name, state := range v.containerStates() {
		total, in := int32(0), []string{}
		for key, pod := range state.Pods {
			if n := restartsOf(before.Containers[name].Pods[key], pod, rebooted[pod.Node]); n > 0 {
				total += n
				in = append(in, pod.Name)
			}
		}
		if total > 0 {
			slices.Sort(in)
			findings = append(findings, Finding{
				Object: name, Saw: fmt.Sprintf("%s since the baseline, in %s", result.Plural(int(total), "restart"), result.Some(in)), Want: "none",
				Fix: "kubectl logs --previous, and kubectl describe, of these pods",
			})
		}
	}
	return findings
}

// restartsOf counts the restarts that were not there before. A pod that is new
// since then, also a static one under its old name, is compared with zero; one
// restart is the host's, where that was started again.
func restartsOf(before, now result.PodState, rebooted bool) int32 {
	n := now.Restarts
	if before.Restarts <= n {
		n -= before.Restarts
	}
	if rebooted && before.Name != "" {
		n--
	}
	return max(n, 0)
}

func rebooted(before, now map[string]result.NodeState) map[string]bool {
	all := map[string]bool{}
	for name, n := range now {
		was, there := before[name]
		all[name] = there && was.BootID != n.BootID
	}
	return all
}
