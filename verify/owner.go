package verify

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/dataplane"
)

// origin is shared by all pods of one owner.
type origin struct {
	owner string // UID of the controller
	kind  string // "Deployment" for a pod of its ReplicaSet; "Node" for a static pod
	name  string
	app   string // label app.kubernetes.io/name
	// judged: a rule checks the controller, which replaces a pod that ended. Such a pod is no
	// finding.
	judged bool
}

func originOf(p *corev1.Pod) origin {
	from := origin{app: p.Labels[dataplane.LabelName]}
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil {
		return from
	}
	from.owner, from.kind, from.name, from.judged = string(owner.UID), owner.Kind, owner.Name, judgesOwner(owner)
	if hash := p.Labels["pod-template-hash"]; from.kind == "ReplicaSet" && hash != "" {
		from.kind, from.name = "Deployment", strings.TrimSuffix(from.name, "-"+hash)
	}
	return from
}

// judgesOwner reports whether workloads, system-workloads or jobs check a controller. Other
// projects have kinds with the same names (the Job of Volcano, the StatefulSet of OpenKruise),
// so the API group counts too.
func judgesOwner(owner *metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(owner.APIVersion, "/")
	switch owner.Kind {
	case "ReplicaSet", "StatefulSet", "DaemonSet":
		return group == "apps"
	case "Job":
		return group == "batch"
	default:
		return false
	}
}
