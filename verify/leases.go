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

// judgeNodeLeases detects a dead host long before its node becomes NotReady. A kubelet renews
// its Lease four times in the Lease's duration (KEP-589), so half of it is two missed renewals.
func judgeNodeLeases(v view) []Finding {
	var findings []Finding
	for _, node := range v.allNodes() {
		l := get[*keptLease](v, leases, corev1.NamespaceNodeLease, node.Name)
		fix := "check that " + node.Name + " is up and reaches the API server; on it: journalctl -u kubelet --since -5min"
		if l == nil {
			findings = append(findings, Finding{Object: "Node " + node.Name, Saw: "its kubelet has no lease", Want: "a lease that is renewed", Fix: fix})
			continue
		}
		if last, _ := v.lastSent(leaseOf(node.Name), l.renewed); v.seenUntil(leases).Sub(last) > l.duration/2 {
			findings = append(findings, Finding{
				Object: "Node " + node.Name, Saw: "its kubelet has not renewed its lease since " + last.UTC().Format(time.RFC3339),
				Want: fmt.Sprintf("every %s", l.duration/4), Fix: fix,
			})
		}
	}
	return findings
}

// expectNodeLeases expects a reliable renewal of each kubelet.
func expectNodeLeases(v view) expectation {
	return v.each(func(n *corev1.Node) absence {
		l := get[*keptLease](v, leases, corev1.NamespaceNodeLease, n.Name)
		if l == nil {
			return absence{"no lease", "on HOST: journalctl -u kubelet --since -15min"}
		}
		return v.noHeartbeat("lease", leaseOf(n.Name), l.renewed)
	})
}

// noHeartbeat reports a heartbeat that is in the future, if none was received since.
func (v view) noHeartbeat(of string, b heartbeat, said time.Time) absence {
	if _, known := v.lastSent(b, said); known {
		return absence{}
	}
	return absence{"too soon to tell: the last renewal of the " + of + " is in the future by this computer's clock, and no newer one was received", longer + "; on each host: timedatectl"}
}

// electing returns the components that elect a leader with a Lease.
func electing() []string { return []string{"kube-scheduler", "kube-controller-manager"} }

func leaders() rule {
	return rule{
		id: "leaders", title: "kube-scheduler and kube-controller-manager have a leader", watches: []kind{leases}, in: metav1.NamespaceSystem, every: time.Second,
		judge: judgeLeaders, expects: expectLeaders,
	}
}

// judgeLeaders requires renewed Leases of the components that elect a leader. Without a leader,
// nothing is scheduled, and no other rule notices it.
func judgeLeaders(v view) []Finding {
	var findings []Finding
	for _, component := range electing() {
		l := get[*keptLease](v, leases, metav1.NamespaceSystem, component)
		saw := "it has no leader"
		if l != nil && l.holder != "" {
			last, _ := v.lastSent(leaderOf(component), l.renewed)
			if v.seenUntil(leases).Sub(last) <= 2*l.duration {
				continue
			}
			saw = fmt.Sprintf("the leader %s has not renewed its lease since %s", l.holder, l.renewed.UTC().Format(time.RFC3339))
		}
		findings = append(findings, Finding{
			Object: "Lease kube-system/" + component, Saw: saw, Want: "a leader that renews the lease",
			Fix: "kubectl -n kube-system logs -l component=" + component,
		})
	}
	return findings
}

func expectLeaders(v view) expectation {
	absences := map[absence][]string{}
	for _, component := range electing() {
		if l := get[*keptLease](v, leases, metav1.NamespaceSystem, component); l != nil {
			if noHeartbeat := v.noHeartbeat("lease", leaderOf(component), l.renewed); noHeartbeat != (absence{}) {
				absences[noHeartbeat] = append(absences[noHeartbeat], component)
			}
		}
	}
	return missingFrom(absences)
}
