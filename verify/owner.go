package verify

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/dataplane"
)

// origin is what all pods of one owner have in common, and keep once.
type origin struct {
	owner string // UID of the controller
	kind  string // of the Deployment where a ReplicaSet is between; "Node" of a static pod
	name  string
	app   string // label app.kubernetes.io/name
	// judged says that a rule judges the controller, which makes a new pod for one
	// that ended: such a pod is no finding by itself.
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

// judgesOwner tells whether workloads, system-workloads or jobs judge a controller. Other
// projects have kinds of the same names (a Job of Volcano, a StatefulSet of OpenKruise),
// so the API group decides as well.
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
