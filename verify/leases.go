package verify

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func nodeLeases() rule {
	return rule{
		id: "node-leases", title: "Kubelets renew their leases", watches: []kind{leases, nodes}, every: time.Second,
		judge: judgeNodeLeases,
	}
}

// judgeNodeLeases tells of a dead host long before its node stops to be Ready:
// a kubelet renews its lease four times in its duration (KEP-589), and half of
// it is two renewals missed.
func judgeNodeLeases(v view) []Finding {
	var findings []Finding
	for _, node := range v.allNodes() {
		l := get[*keptLease](v, leases, corev1.NamespaceNodeLease, node.Name)
		fix := "on " + node.Name + ": is it up, does it reach the API server? journalctl -u kubelet --since -5min"
		if l == nil {
			findings = append(findings, Finding{Object: "Node " + node.Name, Saw: "its kubelet has no lease", Want: "one that is renewed", Fix: fix})
			continue
		}
		if silent := v.silence(leaseOf(node.Name), l.renewed); silent > l.lasts/2 {
			findings = append(findings, Finding{
				Object: "Node " + node.Name, Saw: "its kubelet has not renewed its lease since " + v.now.Add(-silent).UTC().Format(time.RFC3339),
				Want: fmt.Sprintf("every %s", l.lasts/4), Fix: fix,
			})
		}
	}
	return findings
}

func leaders() rule {
	return rule{
		id: "leaders", title: "Scheduler and controller manager are at work", watches: []kind{leases}, in: metav1.NamespaceSystem, every: time.Second,
		judge: judgeLeaders,
	}
}

// judgeLeaders wants the leases renewed by which the control plane's parts
// elect who works: nobody else notices that nothing is scheduled.
func judgeLeaders(v view) []Finding {
	var findings []Finding
	for _, component := range []string{"kube-scheduler", "kube-controller-manager"} {
		l := get[*keptLease](v, leases, metav1.NamespaceSystem, component)
		var saw string
		switch {
		case l == nil || l.holder == "":
			saw = "none of them leads"
		case v.silence(beat{leases, metav1.NamespaceSystem, component}, l.renewed) > 2*l.lasts:
			saw = fmt.Sprintf("%s leads, and has not renewed its lease since %s", l.holder, l.renewed.UTC().Format(time.RFC3339))
		default:
			continue
		}
		findings = append(findings, Finding{
			Object: "Lease kube-system/" + component, Saw: saw, Want: "a leader that renews it",
			Fix: "kubectl -n kube-system logs -l component=" + component,
		})
	}
	return findings
}
