package verify

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"airgap.dev/airgap/internal/reference"
)

func kubeletVersions() rule {
	return rule{
		id: "kubelet-versions", title: "Kubelets run versions that the API server supports", watches: []kind{nodes, pods},
		judge: judgeVersions, expects: expectVersions,
	}
}

// expectVersions expects a version from each kubelet and from an API server.
func expectVersions(v view) expectation {
	servers := apiServerVersions(v)
	return v.each(func(n *corev1.Node) absence {
		if _, err := version.ParseSemantic(n.Status.NodeInfo.KubeletVersion); err != nil {
			return absence{"the kubelet does not report its version", "on HOST: journalctl -u kubelet --since -15min"}
		}
		if servers.oldest == nil {
			return absence{"no API server has reported its version", "kubectl get --raw /version"}
		}
		return absence{}
	})
}

// olderMinors is how many minor versions a kubelet may be older than the API server:
// https://kubernetes.io/releases/version-skew-policy/
const olderMinors = 3

func judgeVersions(v view) []Finding {
	servers := apiServerVersions(v)
	var findings []Finding
	for _, node := range v.allNodes() {
		server := servers.oldest
		if own := servers.on[node.Name]; own != nil { // its kubelet uses only this one (ControlPlaneKubeletLocalMode of kubeadm)
			server = own
		}
		kubelet, err := version.ParseSemantic(node.Status.NodeInfo.KubeletVersion)
		if err != nil || server == nil {
			continue // it has never reported, see nodes-ready; or no API server version is known yet
		}
		var saw string
		switch {
		case kubelet.Major() == server.Major() && kubelet.Minor() > server.Minor():
			saw = "newer than the API server"
		case kubelet.Major() == server.Major() && kubelet.Minor()+olderMinors < server.Minor():
			saw = fmt.Sprintf("more than %d minor versions older than the API server", olderMinors)
		default:
			continue
		}
		findings = append(findings, Finding{
			Object: "Node " + node.Name, Saw: fmt.Sprintf("its kubelet is %s: %s (v%s)", node.Status.NodeInfo.KubeletVersion, saw, server),
			Want: "not newer than the API server, and at most " + fmt.Sprint(olderMinors) + " minor versions older", Fix: "install the cluster's Kubernetes version on the host",
		})
	}
	return findings
}

// servers has the versions of the API servers.
type servers struct {
	on     map[string]*version.Version // by node
	oldest *version.Version            // a load balancer may choose any of them; nil: none is known
}

// apiServerVersions reads the image tags of the API servers, as kubeadm names them. If the API
// servers are not pods, only the version of the connected one is known.
func apiServerVersions(v view) servers {
	all := servers{on: map[string]*version.Version{}}
	all.oldest, _ = version.ParseSemantic(v.server) // nil: not known yet
	for _, node := range v.allNodes() {
		found := staticPod(v, "kube-apiserver", node.Name)
		if found == nil {
			continue
		}
		for _, c := range found.containers {
			is, err := version.ParseSemantic(reference.TagOf(c.of.Value().named))
			if err != nil {
				continue
			}
			all.on[node.Name] = is
			if all.oldest == nil || is.LessThan(all.oldest) {
				all.oldest = is
			}
		}
	}
	return all
}
