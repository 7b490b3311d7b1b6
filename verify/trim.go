package verify

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// trim keeps the used fields of an object before it is stored: a pod shrinks to a tenth. It is a
// cache.TransformFunc and idempotent.
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
		o.Spec = appsv1.DeploymentSpec{Replicas: o.Spec.Replicas, Paused: o.Spec.Paused}
	case *appsv1.StatefulSet:
		o.ObjectMeta = identity(o.ObjectMeta)
		o.Spec = appsv1.StatefulSetSpec{Replicas: o.Spec.Replicas, UpdateStrategy: o.Spec.UpdateStrategy}
	case *appsv1.ReplicaSet:
		return keepReplicaSet(o), nil
	case *batchv1.Job:
		return keepJob(o), nil
	case *corev1.Namespace:
		return keepNamespace(o), nil
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
	case *rbacv1.ClusterRoleBinding:
		return keepBinding(o), nil
	case *rbacv1.ClusterRole:
		return keepRole(o), nil
	case *certificatesv1.CertificateSigningRequest:
		return keepRequest(o), nil
	case *unstructured.Unstructured:
		return keepUntyped(o), nil
	}
	return obj, nil
}

func trimNode(o *corev1.Node) {
	o.ObjectMeta = identity(o.ObjectMeta)
	o.Labels = labels(o.Labels)
	o.Spec = corev1.NodeSpec{Taints: o.Spec.Taints, Unschedulable: o.Spec.Unschedulable}
	info := o.Status.NodeInfo
	o.Status = corev1.NodeStatus{
		Allocatable: gpuResources(o.Status.Allocatable),
		Conditions:  judgedConditions(o.Status.Conditions),
		NodeInfo: corev1.NodeSystemInfo{
			BootID: info.BootID, KubeletVersion: once(info.KubeletVersion), ContainerRuntimeVersion: once(info.ContainerRuntimeVersion),
			KernelVersion: once(info.KernelVersion), OSImage: once(info.OSImage),
		},
	}
}

// judgedConditions returns Ready, and the other conditions that are true: only their reasons are
// reported.
func judgedConditions(all []corev1.NodeCondition) []corev1.NodeCondition {
	var kept []corev1.NodeCondition
	for _, c := range all {
		if c.Type == corev1.NodeReady || c.Status == corev1.ConditionTrue {
			c.Type, c.Reason, c.Message = corev1.NodeConditionType(once(string(c.Type))), once(c.Reason), once(c.Message)
			kept = append(kept, c)
		}
	}
	return slices.Clip(kept)
}

func trimDaemonSet(o *appsv1.DaemonSet) {
	o.ObjectMeta = identity(o.ObjectMeta)
	s := &o.Spec.Template.Spec
	o.Spec.Template.ObjectMeta = metav1.ObjectMeta{}
	o.Spec.Template.Spec = corev1.PodSpec{NodeSelector: s.NodeSelector, Affinity: s.Affinity, Tolerations: s.Tolerations, HostNetwork: s.HostNetwork, NodeName: s.NodeName}
}

// labels shares the texts of labels, which are the same on thousands of nodes.
func labels(of map[string]string) map[string]string {
	kept := make(map[string]string, len(of))
	for key, value := range of {
		kept[once(key)] = once(value)
	}
	return kept
}

func identity(m metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID,
		ResourceVersion: m.ResourceVersion, Generation: m.Generation, CreationTimestamp: m.CreationTimestamp,
		DeletionTimestamp: m.DeletionTimestamp, Labels: m.Labels, OwnerReferences: m.OwnerReferences,
	}
	if m.DeletionTimestamp != nil {
		kept.Finalizers = m.Finalizers
	}
	return kept
}
