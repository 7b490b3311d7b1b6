package verify

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

func controlPlane() rule {
	return rule{
		id: "control-plane", title: "Control-plane nodes run their static pods", watches: []kind{nodes, pods}, also: []kind{nodeReports},
		judge: judgeControlPlane, expects: joined,
	}
}

func judgeControlPlane(v view) []Finding {
	var hosts []string
	// An old report also shows whether etcd is stacked or external.
	stacked := slices.ContainsFunc(all[*keptReport](v, nodeReports), func(r *keptReport) bool { return r.report.Etcd != nil })
	for _, node := range v.allNodes() {
		if !ofControlPlane(node) {
			continue
		}
		hosts = append(hosts, node.Name)
		stacked = stacked || staticPod(v, "etcd", node.Name) != nil
	}
	if len(hosts) == 0 && len(v.allNodes()) > 0 {
		return []Finding{{Object: "Cluster", Saw: "no node has the label " + controlPlaneLabel, Want: "at least one", Fix: "for each control-plane node: kubectl label node NAME " + controlPlaneLabel + "="}}
	}
	components := []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}
	if stacked {
		components = append(components, "etcd")
	}
	var findings []Finding
	for _, host := range hosts {
		for _, component := range components {
			if saw := staticTrouble(staticPod(v, component, host)); saw != "" {
				findings = append(findings, Finding{
					Object: "Pod kube-system/" + component + "-" + host, Saw: saw, Want: "running and ready",
					Fix: "on " + host + ": check /etc/kubernetes/manifests/" + component + ".yaml; journalctl -u kubelet",
				})
			}
		}
	}
	return findings
}

func ofControlPlane(node *corev1.Node) bool {
	_, is := node.Labels[controlPlaneLabel]
	return is
}

// staticPod returns the mirror pod of a static pod, or nil. The kubelet appends the name of the
// node to the name of the pod.
func staticPod(v view, component, node string) *keptPod {
	return get[*keptPod](v, pods, metav1.NamespaceSystem, component+"-"+node)
}

func staticTrouble(p *keptPod) string {
	if p == nil {
		return "it does not exist"
	}
	if p.problem == nil {
		return ""
	}
	return p.problem.why
}
