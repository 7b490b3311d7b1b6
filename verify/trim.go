package verify

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// trim keeps of each object what rules judge, before it is stored: a pod
// shrinks to a fraction. It is a cache.TransformFunc; trimming twice is
// trimming once.
func trim(obj any) (any, error) {
	switch o := obj.(type) {
	case *corev1.Pod:
		return trimPod(o), nil
	case *corev1.Node:
		o.ObjectMeta = identity(o.ObjectMeta)
		o.Status = corev1.NodeStatus{Conditions: o.Status.Conditions, NodeInfo: o.Status.NodeInfo}
	case *appsv1.DaemonSet:
		o.ObjectMeta = identity(o.ObjectMeta)
		o.Spec.Template.Spec.Containers, o.Spec.Template.Spec.InitContainers, o.Spec.Template.Spec.Volumes = nil, nil, nil
	case *appsv1.Deployment:
		o.ObjectMeta = identity(o.ObjectMeta)
		o.Spec = appsv1.DeploymentSpec{Replicas: o.Spec.Replicas}
	}
	return obj, nil
}

func trimPod(o *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: identity(o.ObjectMeta),
		Spec:       corev1.PodSpec{NodeName: o.Spec.NodeName, RestartPolicy: o.Spec.RestartPolicy},
		Status: corev1.PodStatus{
			Phase: o.Status.Phase, Reason: o.Status.Reason, Message: o.Status.Message,
			Conditions:                 o.Status.Conditions,
			InitContainerStatuses:      o.Status.InitContainerStatuses,
			ContainerStatuses:          o.Status.ContainerStatuses,
			EphemeralContainerStatuses: o.Status.EphemeralContainerStatuses,
		},
	}
}

func identity(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID,
		ResourceVersion: m.ResourceVersion, Generation: m.Generation, CreationTimestamp: m.CreationTimestamp,
		DeletionTimestamp: m.DeletionTimestamp, Labels: m.Labels, OwnerReferences: m.OwnerReferences,
	}
}
