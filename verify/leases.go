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
		judge: judgeNodeLeases, expects: expectNodeLeases,
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
		if silent, _ := v.silence(leaseOf(node.Name), l.renewed); silent > l.lasts/2 {
			findings = append(findings, Finding{
				Object: "Node " + node.Name, Saw: "its kubelet has not renewed its lease since " + v.now.Add(-silent).UTC().Format(time.RFC3339),
				Want: fmt.Sprintf("every %s", l.lasts/4), Fix: fix,
			})
		}
	}
	return findings
}

// expectNodeLeases expects a renewal of each kubelet that is evidence.
func expectNodeLeases(v view) expectation {
	return v.each(func(n *corev1.Node) lack {
		l := get[*keptLease](v, leases, corev1.NamespaceNodeLease, n.Name)
		if l == nil {
			return lack{"no lease", "on HOST: journalctl -u kubelet --since -15min"}
		}
		return v.unheard("lease", leaseOf(n.Name), l.renewed)
	})
}

// unheard is about a beat that says to be yet to come, while none was heard.
func (v view) unheard(of string, b beat, said time.Time) lack {
	if _, known := v.silence(b, said); known {
		return lack{}
	}
	return lack{"too soon to tell: by this computer's clock the last renewal of the " + of + " is yet to come, and no other was heard", longer + "; on each host: timedatectl"}
}

// electing are the components of which one leads, by a lease.
func electing() []string { return []string{"kube-scheduler", "kube-controller-manager"} }

func leaders() rule {
	return rule{
		id: "leaders", title: "Scheduler and controller manager are at work", watches: []kind{leases}, in: metav1.NamespaceSystem, every: time.Second,
		judge: judgeLeaders, expects: expectLeaders,
	}
}

// judgeLeaders wants the leases renewed by which the control plane's parts
// elect who works: nobody else notices that nothing is scheduled.
func judgeLeaders(v view) []Finding {
	var findings []Finding
	for _, component := range electing() {
		l := get[*keptLease](v, leases, metav1.NamespaceSystem, component)
		saw := "none of them leads"
		if l != nil && l.holder != "" {
			silent, _ := v.silence(leaderOf(component), l.renewed)
			if silent <= 2*l.lasts {
				continue
			}
			saw = fmt.Sprintf("%s leads, and has not renewed its lease since %s", l.holder, l.renewed.UTC().Format(time.RFC3339))
		}
		findings = append(findings, Finding{
			Object: "Lease kube-system/" + component, Saw: saw, Want: "a leader that renews it",
			Fix: "kubectl -n kube-system logs -l component=" + component,
		})
	}
	return findings
}

func expectLeaders(v view) expectation {
	lacks := map[lack][]string{}
	for _, component := range electing() {
		if l := get[*keptLease](v, leases, metav1.NamespaceSystem, component); l != nil {
			if unheard := v.unheard("lease", leaderOf(component), l.renewed); unheard != (lack{}) {
				lacks[unheard] = append(lacks[unheard], component)
			}
		}
	}
	return lacked(lacks)
}
