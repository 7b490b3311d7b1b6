package verify

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
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
		if saw := notReady(node); saw != "" {
			findings = append(findings, Finding{
				Object: "Node " + node.Name, Saw: saw, Want: "Ready",
				Fix: "on " + node.Name + ": journalctl -u kubelet -u containerd -u crio --since -15min",
			})
		}
	}
	for _, name := range expected {
		if !joined[name] {
			findings = append(findings, Finding{
				Object: "Node " + name, Saw: "it has not joined", Want: "Ready",
				Fix: "run airgap join on it, or take it out of nodes: in airgap.yaml",
			})
		}
	}
	if len(joined) == 0 && len(expected) == 0 {
		findings = append(findings, Finding{Object: "Cluster", Saw: "it has no nodes", Want: "at least one"})
	}
	return findings
}

// notReady says why a node is not Ready, or "".
func notReady(node *corev1.Node) string {
	i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return "its kubelet has never reported"
	}
	c := node.Status.Conditions[i]
	switch c.Status {
	case corev1.ConditionTrue:
		return ""
	case corev1.ConditionUnknown:
		return "silent: " + because(c.Reason, c.Message)
	default:
		return "not Ready: " + because(c.Reason, c.Message)
	}
}

// because joins a reason and a message, of which either may be missing.
func because(reason, message string) string {
	switch {
	case reason == "" && message == "":
		return "no reason given"
	case message == "":
		return reason
	case reason == "":
		return message
	default:
		return reason + ": " + message
	}
}
