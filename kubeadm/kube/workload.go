package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/manifests"
)

// Workload is the controller that restarts a pod.
type Workload struct{ Kind, Namespace, Name string }

// String is KIND/NAME -n NAMESPACE, as kubectl takes it.
func (w Workload) String() string { return w.Kind + "/" + w.Name + " -n " + w.Namespace }

// WorkloadOf follows the controllers up to the one that a person knows.
func WorkloadOf(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) (Workload, error) {
	own := Workload{"pod", pod.Namespace, pod.Name}
	of := metav1.GetControllerOf(pod)
	if of == nil {
		return own, nil
	}
	if of.Kind == "ReplicaSet" {
		set, err := client.AppsV1().ReplicaSets(pod.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return own, nil
		}
		if err != nil {
			return own, fmt.Errorf("ask for the owner of pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		if above := metav1.GetControllerOf(set); above != nil {
			of = above
		}
	}
	return Workload{strings.ToLower(of.Kind), pod.Namespace, of.Name}, nil
}

// RestartIf restarts the pods of a workload, once after a time, if requested or if the
// workload belongs to airgap or kubeadm; it reports whether it does. airgap does not restart
// pods without a controller and pods of Jobs.
func (w Workload) RestartIf(ctx context.Context, client kubernetes.Interface, since time.Time, wanted bool) (own bool, err error) {
	meta, template, err := w.read(ctx, client)
	if apierrors.IsNotFound(err) || err == nil && meta == nil {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask for %s: %w", w, err)
	}
	own = w.Namespace == metav1.NamespaceSystem || slices.ContainsFunc(meta.ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == manifests.FieldManager })
	last, err := time.Parse(time.RFC3339, template.Annotations[RestartedAt])
	if !own && !wanted || err == nil && !last.Before(since) {
		return own, nil
	}
	now := time.Now()
	if now.Before(since) {
		now = since
	}
	if err := w.Restart(ctx, client, now); err != nil {
		return own, fmt.Errorf("restart the pods of %s: %w", w, err)
	}
	return own, nil
}

// RestartedAt is the annotation of kubectl rollout restart.
const RestartedAt = "kubectl.kubernetes.io/restartedAt"

// read returns nil for a kind without a pod template that can be changed.
func (w Workload) read(ctx context.Context, client kubernetes.Interface) (*metav1.ObjectMeta, *corev1.PodTemplateSpec, error) {
	apps := client.AppsV1()
	switch w.Kind {
	case "deployment":
		d, err := apps.Deployments(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
		return &d.ObjectMeta, &d.Spec.Template, err
	case "daemonset":
		d, err := apps.DaemonSets(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
		return &d.ObjectMeta, &d.Spec.Template, err
	case "statefulset":
		s, err := apps.StatefulSets(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
		return &s.ObjectMeta, &s.Spec.Template, err
	}
	return nil, nil, nil
}

// Restart has the controller replace the pods, as kubectl rollout restart does.
func (w Workload) Restart(ctx context.Context, client kubernetes.Interface, at time.Time) (err error) {
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`, RestartedAt, at.UTC().Format(time.RFC3339))
	apps, by := client.AppsV1(), metav1.PatchOptions{FieldManager: manifests.FieldManager}
	switch w.Kind {
	case "deployment":
		_, err = apps.Deployments(w.Namespace).Patch(ctx, w.Name, types.StrategicMergePatchType, patch, by)
	case "daemonset":
		_, err = apps.DaemonSets(w.Namespace).Patch(ctx, w.Name, types.StrategicMergePatchType, patch, by)
	case "statefulset":
		_, err = apps.StatefulSets(w.Namespace).Patch(ctx, w.Name, types.StrategicMergePatchType, patch, by)
	}
	return err
}
