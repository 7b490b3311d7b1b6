package verify

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/verify/nodestate"
)

func nodesReady(expected []string) rule {
	return rule{
		id: "nodes-ready", title: "Nodes are Ready", watches: []kind{nodes},
		judge: func(v view) []Finding { return judgeNodes(v, expected) },
	}
}

func judgeNodes(v view, expected []string) []Finding {
	var findings []Finding
	joined := map[string]bool{}
	for _, node := range v.allNodes() {
		joined[node.Name] = true
		if saw := nodestate.NotReady(node); saw != "" {
			findings = append(findings, Finding{
				Object: "Node " + node.Name, Saw: saw, Want: "Ready",
				Fix: "on " + node.Name + ": journalctl -u kubelet -u containerd -u crio --since -15min; if the host is dead: airgap remove " + node.Name + " --force",
			})
		}
	}
	for _, name := range expected {
		if !joined[name] {
			findings = append(findings, Finding{
				Object: "Node " + name, Saw: "it has not joined", Want: "Ready",
				Fix: "run airgap join on it; if it will not join: airgap remove " + name,
			})
		}
	}
	if len(joined) == 0 && len(expected) == 0 {
		findings = append(findings, Finding{Object: "Cluster", Saw: "it has no nodes", Want: "at least one", Fix: "on the first host: airgap status; journalctl -u kubelet"})
	}
	return findings
}

func nodesPressed() rule {
	return rule{
		id: "nodes-pressure", title: "No node is short of memory, disk space or PIDs", watches: []kind{nodes},
		judge: judgePressure, expects: reporting,
	}
}

func judgePressure(v view) []Finding {
	fixes := map[corev1.NodeConditionType]string{
		corev1.NodeMemoryPressure: "free -h; find the pods that use the memory: crictl stats",
		corev1.NodeDiskPressure:   "df -h /var/lib/containerd /var/lib/kubelet; the kubelet deletes unused images and evicts pods until enough space is free",
		corev1.NodePIDPressure:    "ps -eLf | wc -l; sysctl kernel.pid_max",
	}
	var findings []Finding
	for _, node := range v.allNodes() {
		for _, c := range node.Status.Conditions {
			if fix, judged := fixes[c.Type]; judged && c.Status == corev1.ConditionTrue {
				findings = append(findings, Finding{
					Object: "Node " + node.Name, Saw: string(c.Type) + ": " + nodestate.Because(c.Reason, c.Message), Want: "no " + string(c.Type),
					Fix: "on " + node.Name + ": " + fix,
				})
			}
		}
	}
	return findings
}

func nodesSchedulable() rule {
	return rule{
		id: "nodes-schedulable", title: "Nodes are schedulable", watches: []kind{nodes},
		judge: judgeSchedulable, expects: joined,
	}
}

// judgeSchedulable finds nodes that are still cordoned, and nodes that are marked out of
// service. The rules about Ready and pressure cover their taints; a site may set other taints.
func judgeSchedulable(v view) []Finding {
	var findings []Finding
	for _, node := range v.allNodes() {
		switch {
		case node.Spec.Unschedulable:
			findings = append(findings, Finding{
				Object: "Node " + node.Name, Saw: "cordoned", Want: "schedulable", Fix: "when its maintenance is done: kubectl uncordon " + node.Name,
			})
		case slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService }):
			findings = append(findings, Finding{
				Object: "Node " + node.Name, Saw: "marked out of service", Want: "schedulable",
				Fix: "when it is available again: kubectl taint node " + node.Name + " " + corev1.TaintNodeOutOfService + "-",
			})
		}
	}
	return findings
}
