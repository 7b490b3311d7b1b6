package load

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// workload is a controller that creates pods.
type workload struct {
	kind            string // "DaemonSet", "ReplicaSet", "Node" of a static pod
	namespace, name string
	number          int // within its kind: selects its images and the node of its first pod
	replicas        int
	system          bool // one container in the host network; else an application
}

func daemons() []workload {
	return []workload{
		{kind: "DaemonSet", namespace: "kube-system", name: "kube-proxy", number: 0, system: true},
		{kind: "DaemonSet", namespace: "kube-flannel", name: "kube-flannel-ds", number: 1, system: true},
		{kind: "DaemonSet", namespace: "airgap-system", name: "data-plane", number: 2, system: true},
	}
}

func controlPlane() []workload {
	var all []workload
	for i, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"} {
		all = append(all, workload{kind: "Node", namespace: "kube-system", name: name, number: 3 + i, system: true})
	}
	return all
}

func coreDNS() workload {
	return workload{kind: "ReplicaSet", namespace: "kube-system", name: "coredns", number: 7, replicas: 2, system: true}
}

func application(i, replicas int) workload {
	return workload{kind: "ReplicaSet", namespace: "shop", name: fmt.Sprintf("payments-ledger-%04d", i), number: i, replicas: replicas}
}

func (w workload) labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": w.name, "app.kubernetes.io/instance": w.name, "app.kubernetes.io/part-of": w.namespace, "app.kubernetes.io/version": "4.11.2"}
}

// hash returns the hash of the pod template, which names the ReplicaSet of a Deployment.
func (w workload) hash() string { return sum(w.name)[:10] }

func (w workload) replicaSetName() string { return w.name + "-" + w.hash() }

// podName returns the name of the i-th pod, on a node.
func (w workload) podName(node string, i int) string {
	switch w.kind {
	case "Node":
		return w.name + "-" + node
	case "DaemonSet":
		return w.name + "-" + suffix(i)
	default:
		return w.replicaSetName() + "-" + suffix(i)
	}
}

// suffix returns characters that look random, different for each i below a million.
func suffix(i int) string { return fmt.Sprintf("%05x", i*611953%(1<<20)) }

// owner returns the reference to the controller of a pod on a node.
func (w workload) owner(node string) metav1.OwnerReference {
	yes := true
	o := metav1.OwnerReference{APIVersion: "apps/v1", Kind: w.kind, Name: w.name, Controller: &yes, BlockOwnerDeletion: &yes}
	switch w.kind {
	case "Node":
		o.APIVersion, o.Name, o.BlockOwnerDeletion = "v1", node, nil
	case "ReplicaSet":
		o.Name = w.replicaSetName()
	}
	o.UID = w.uid(o.Kind, o.Name)
	return o
}

func (w workload) uid(kind, name string) types.UID {
	if kind == "Node" {
		return uid("node " + name)
	}
	return uid(kind + " " + w.namespace + "/" + name)
}

func (w workload) meta(kind, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: w.namespace, UID: w.uid(kind, name), Generation: 1, CreationTimestamp: born(), Labels: w.labels(),
		Annotations: map[string]string{"deployment.kubernetes.io/revision": "1"},
	}
}

// template returns the pod template. Its containers differ from the pods' only in their images.
func (w workload) template() (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	selector := map[string]string{"app.kubernetes.io/name": w.name}
	return &metav1.LabelSelector{MatchLabels: selector}, corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: w.labels()},
		Spec: corev1.PodSpec{
			HostNetwork: w.system, Containers: w.containers(nil),
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
}

func (w workload) daemonSet(nodes int) *appsv1.DaemonSet {
	n := int32(nodes)
	d := &appsv1.DaemonSet{
		ObjectMeta: w.meta("DaemonSet", w.name),
		Status: appsv1.DaemonSetStatus{
			ObservedGeneration: 1, DesiredNumberScheduled: n, CurrentNumberScheduled: n,
			UpdatedNumberScheduled: n, NumberReady: n, NumberAvailable: n,
		},
	}
	d.Spec.Selector, d.Spec.Template = w.template()
	d.ManagedFields = managed("apps/v1", "airgap", "kube-controller-manager", d)
	return d
}

func (w workload) deployment() *appsv1.Deployment {
	n := int32(w.replicas)
	d := &appsv1.Deployment{
		ObjectMeta: w.meta("Deployment", w.name),
		Spec:       appsv1.DeploymentSpec{Replicas: &n},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 1, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
			Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable", LastTransitionTime: born(), LastUpdateTime: born()}},
		},
	}
	d.Spec.Selector, d.Spec.Template = w.template()
	d.ManagedFields = managed("apps/v1", "helm", "kube-controller-manager", d)
	return d
}

func (w workload) replicaSet() *appsv1.ReplicaSet {
	n, yes := int32(w.replicas), true
	r := &appsv1.ReplicaSet{
		ObjectMeta: w.meta("ReplicaSet", w.replicaSetName()),
		Spec:       appsv1.ReplicaSetSpec{Replicas: &n},
		Status:     appsv1.ReplicaSetStatus{ObservedGeneration: 1, Replicas: n, FullyLabeledReplicas: n, ReadyReplicas: n, AvailableReplicas: n},
	}
	r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: w.name, UID: w.uid("Deployment", w.name), Controller: &yes, BlockOwnerDeletion: &yes}}
	r.Spec.Selector, r.Spec.Template = w.template()
	r.ManagedFields = managed("apps/v1", "kube-controller-manager", "kube-controller-manager", r)
	return r
}

// tagged returns the name of an image with its tag instead of its digest.
func tagged(image string) string {
	repository, _, _ := strings.Cut(image, "@")
	return repository + ":4.11.2"
}
