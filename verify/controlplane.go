package verify

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

func controlPlane() rule {
	return rule{
		id: "control-plane", title: "Every control-plane node runs its static pods", watches: []kind{nodes, pods}, also: []kind{nodeReports},
		judge: judgeControlPlane, expects: joined,
	}
}

func judgeControlPlane(v view) []Finding {
	var hosts []string
	// Whether etcd is beside the API server, not outside the cluster, an old report says as well.
	stacked := slices.ContainsFunc(all[*keptReport](v, nodeReports), func(r *keptReport) bool { return r.report.Etcd != nil })
	for _, node := range v.allNodes() {
		if !ofControlPlane(node) {
			continue
		}
		hosts = append(hosts, node.Name)
		stacked = stacked || staticPod(v, "etcd", node.Name) != nil
	}
	if len(hosts) == 0 && len(v.allNodes()) > 0 {
		return []Finding{{Object: "Cluster", Saw: "no node has the label " + controlPlaneLabel, Want: "at least one", Fix: "kubectl label node NAME " + controlPlaneLabel + "=, for each host of the control plane"}}
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
					Fix: "on " + host + ": look at /etc/kubernetes/manifests/" + component + ".yaml and journalctl -u kubelet",
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

// staticPod is the mirror of a static pod, which the kubelet names after the
// node, or nil.
func staticPod(v view, component, node string) *keptPod {
	return get[*keptPod](v, pods, metav1.NamespaceSystem, component+"-"+node)
}

func staticTrouble(p *keptPod) string {
	if p == nil {
		return "it does not exist"
	}
	if p.unwell == nil {
		return ""
	}
	return p.unwell.why
}
