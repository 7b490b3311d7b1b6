package verify

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// trim keeps of each object what rules judge, before it is stored: a pod
// shrinks to a tenth. It is a cache.TransformFunc; trimming twice is
// trimming once.
func trim(obj any) (any, error) {
	switch o := obj.(type) {
	case *corev1.Pod:
		return keepPod(o), nil
	case *corev1.Node:
		trimNode(o)
	case *appsv1.DaemonSet:
		trimDaemonSet(o)
	case *appsv1.Deployment:
		o.ObjectMeta = identity(o.ObjectMeta)
		o.Spec = appsv1.DeploymentSpec{Replicas: o.Spec.Replicas}
	case *appsv1.StatefulSet:
		o.ObjectMeta = identity(o.ObjectMeta)
		o.Spec = appsv1.StatefulSetSpec{Replicas: o.Spec.Replicas, UpdateStrategy: o.Spec.UpdateStrategy}
	case *coordinationv1.Lease:
		return keepLease(o), nil
	case *corev1.Service:
		return &keptService{metaOf(o.ObjectMeta)}, nil
	case *discoveryv1.EndpointSlice:
		return keepSlice(o), nil
	case *admissionv1.ValidatingWebhookConfiguration:
		return keepValidating(o), nil
	case *admissionv1.MutatingWebhookConfiguration:
		return keepMutating(o), nil
	case *unstructured.Unstructured:
		return keepUntyped(o)
	}
	return obj, nil
}

func trimNode(o *corev1.Node) {
	o.ObjectMeta = identity(o.ObjectMeta)
	o.Spec = corev1.NodeSpec{Taints: o.Spec.Taints, Unschedulable: o.Spec.Unschedulable}
	o.Status = corev1.NodeStatus{Conditions: o.Status.Conditions, NodeInfo: o.Status.NodeInfo, Allocatable: o.Status.Allocatable}
}

func trimDaemonSet(o *appsv1.DaemonSet) {
	o.ObjectMeta = identity(o.ObjectMeta)
	s := &o.Spec.Template.Spec
	o.Spec.Template.ObjectMeta = metav1.ObjectMeta{}
	o.Spec.Template.Spec = corev1.PodSpec{NodeSelector: s.NodeSelector, Affinity: s.Affinity, Tolerations: s.Tolerations, HostNetwork: s.HostNetwork, NodeName: s.NodeName}
}

func identity(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID,
		ResourceVersion: m.ResourceVersion, Generation: m.Generation, CreationTimestamp: m.CreationTimestamp,
		DeletionTimestamp: m.DeletionTimestamp, Labels: m.Labels, OwnerReferences: m.OwnerReferences,
	}
}
