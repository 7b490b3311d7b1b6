package verify

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
)

func kubeletVersions() rule {
	return rule{
		id: "kubelet-versions", title: "Kubelets are of versions that the API server supports", watches: []kind{nodes},
		judge: judgeVersions,
	}
}

// olderMinors is by how many minor versions a kubelet may be older than the API
// server: https://kubernetes.io/releases/version-skew-policy/
const olderMinors = 3

func judgeVersions(v view) []Finding {
	server, err := version.ParseSemantic(v.server)
	if err != nil {
		return nil // it has not said yet
	}
	var findings []Finding
	for _, node := range v.allNodes() {
		kubelet, err := version.ParseSemantic(node.Status.NodeInfo.KubeletVersion)
		if err != nil {
			continue // it has never reported, which nodes-ready says
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
			Object: "Node " + node.Name, Saw: fmt.Sprintf("its kubelet is %s: %s (%s)", node.Status.NodeInfo.KubeletVersion, saw, v.server),
			Want: "no newer, and at most " + fmt.Sprint(olderMinors) + " minor versions older", Fix: "bring the host to the cluster's version",
		})
	}
	return findings
}
