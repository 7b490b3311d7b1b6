// Package nodestate reads the condition Ready of nodes, and which node a finding is about.
package nodestate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// NotReady returns why a node is not Ready, or "".
func NotReady(node *corev1.Node) string {
	c, found := Ready(node)
	switch {
	case !found:
		return "its kubelet has never reported"
	case c.Status == corev1.ConditionTrue:
		return ""
	case c.Status == corev1.ConditionUnknown:
		return "not reporting: " + Because(c.Reason, c.Message)
	default:
		return "not Ready: " + Because(c.Reason, c.Message)
	}
}

// Ready returns the condition Ready.
func Ready(node *corev1.Node) (ready corev1.NodeCondition, found bool) {
	i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return corev1.NodeCondition{}, false
	}
	return node.Status.Conditions[i], true
}

// Because joins a reason and a message. Both may be empty.
func Because(reason, message string) string {
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

// Away returns those of the absent nodes that are not Ready. One that is back counts as any other node.
func Away(nodes []*corev1.Node, absent []string) (names []string) {
	for _, n := range nodes {
		if slices.Contains(absent, n.Name) && NotReady(n) != "" {
			names = append(names, n.Name)
		}
	}
	return names
}

// Named returns the node that the object of a finding names: "Node w1, /etc/resolv.conf", "NodeReport w1", "etcd on cp2",
// "NodePort 30412 of w1". It returns "" for other objects.
func Named(object string) string {
	object, _, _ = strings.Cut(object, ",")
	words := strings.Fields(object)
	if len(words) < 2 || !slices.Contains([]string{"Node", "NodeReport", "on", "of", "from", "to"}, words[len(words)-2]) {
		return ""
	}
	return words[len(words)-1]
}
