package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/manifests"
)

// PodsPolicy is what happens to pods that read the cluster's authority when they
// were started, and would not trust a certificate of the new one.
type PodsPolicy string

const (
	WaitForPods PodsPolicy = "wait"    // until somebody has started them anew
	RestartPods PodsPolicy = "restart" // by their Deployment, DaemonSet or StatefulSet, as kubectl rollout restart does
	LeavePods   PodsPolicy = "leave"   // those that only read the file once lose the API server until they are
)

// refreshTime is within which the kubelet brings a changed ConfigMap into a pod: its
// syncFrequency of one minute, and half of that again for its own pods' turn.
const refreshTime = 90 * time.Second

// workload is what a pod is started anew by.
type workload struct{ kind, namespace, name string }

func (w workload) String() string { return w.kind + "/" + w.name + " -n " + w.namespace }

// startPods has all pods that read the cluster's authority be started after both were
// published.
func (p *participant) startPods(ctx context.Context) error {
	since, err := p.trustedSince(ctx)
	if err != nil {
		return err
	}
	last := ""
	err = p.patiently(ctx, gatherTime, func(ctx context.Context, client kubernetes.Interface) error {
		old, err := oldTrusters(ctx, client, since)
		if err != nil {
			return err
		}
		var waits []string
		for _, w := range old {
			own, err := w.restartIf(ctx, client, since, p.Pods == RestartPods)
			if err != nil {
				return err
			}
			if own || p.Pods != LeavePods {
				waits = append(waits, w.String())
			}
		}
		if len(waits) == 0 {
			return nil
		}
		if text := strings.Join(waits, ", "); text != last {
			last = text
			p.Say("waits until pods have been started anew, which trust the old authority alone: %s", text)
			if p.Pods == WaitForPods {
				p.Say("those of airgap and kubeadm are started by themselves; for the others kubectl rollout restart, or --pods restart")
			}
		}
		return fmt.Errorf("pods that trust the old authority alone: %s", last)
	})
	if err != nil && ctx.Err() == nil {
		err = &host.Failure{What: "wait until pods trust both authorities", Err: err, Next: "kubectl rollout restart starts them anew; then run the same command again, or with --pods restart, or --pods leave"}
	}
	return err
}

// trustedSince is when the pods' ConfigMaps had both authorities; the first time it is
// written down.
func (p *participant) trustedSince(ctx context.Context) (since time.Time, err error) {
	err = p.patiently(ctx, comeBack, func(ctx context.Context, client kubernetes.Interface) error {
		x := exchange{client, p.node, replacementName}
		m, err := x.read(ctx)
		if err == nil && m == nil {
			err = errors.New("the Secret " + replacementName + " is gone")
		}
		if err != nil {
			return err
		}
		if since, err = time.Parse(time.RFC3339, string(m.data[trustedField])); err == nil {
			return nil
		}
		since = time.Now().UTC().Truncate(time.Second).Add(time.Second)
		return x.patch(ctx, map[string][]byte{trustedField: []byte(since.Format(time.RFC3339))})
	})
	return since, err
}

// startOwnPods starts the pods of airgap and kubeadm anew once more, and says whose
// others were started before.
func (p *participant) startOwnPods(ctx context.Context) (others []string, err error) {
	now := time.Now().Truncate(time.Second)
	err = p.patiently(ctx, comeBack, func(ctx context.Context, client kubernetes.Interface) error {
		old, err := oldTrusters(ctx, client, now)
		if err != nil {
			return err
		}
		others = []string{}
		for _, w := range old {
			own, err := w.restartIf(ctx, client, now, false)
			if err != nil {
				return err
			}
			if !own {
				others = append(others, w.String())
			}
		}
		return nil
	})
	return others, err
}

// oldTrusters are the workloads with a pod that reads the cluster's authority and was
// started before a time.
func oldTrusters(ctx context.Context, client kubernetes.Interface, since time.Time) ([]workload, error) {
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the pods: %w", err)
	}
	var all []workload
	for _, pod := range pods.Items {
		if !startedBefore(&pod, since) || !slices.ContainsFunc(pod.Spec.Volumes, hasRootCA) {
			continue
		}
		w, err := workloadOf(ctx, client, &pod)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b workload) int { return strings.Compare(a.String(), b.String()) })
	return all, nil
}

// startedBefore reports whether a program of a pod that lives may have read a file
// as it was before the time: a container that was started again within an old pod
// needs the kubelet to have brought the new one. A pod that was made because of a restart
// of then is none of before, whatever the clock says that gave it its second.
func startedBefore(pod *corev1.Pod, since time.Time) bool {
	if made, err := time.Parse(time.RFC3339, pod.Annotations[restartedAt]); err == nil && !made.Before(since) {
		return false
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil || !pod.CreationTimestamp.Time.Before(since) {
		return false
	}
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil && s.State.Running.StartedAt.Time.Before(since.Add(refreshTime))
	})
}

func hasRootCA(v corev1.Volume) bool {
	return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
		return s.ConfigMap != nil && s.ConfigMap.Name == rootCA
	})
}

// workloadOf follows the controllers up to the one that a person knows.
func workloadOf(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) (workload, error) {
	own := workload{"pod", pod.Namespace, pod.Name}
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
	return workload{strings.ToLower(of.Kind), pod.Namespace, of.Name}, nil
}

// restartIf starts the pods of a workload anew, once after a time, if that is wanted
// or the workload is airgap's or kubeadm's own; it reports whether it is. Pods without
// a controller, and those of Jobs, are not for us to start.
func (w workload) restartIf(ctx context.Context, client kubernetes.Interface, since time.Time, wanted bool) (own bool, err error) {
	meta, template, err := w.read(ctx, client)
	if apierrors.IsNotFound(err) || err == nil && meta == nil {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask for %s: %w", w, err)
	}
	own = w.namespace == metav1.NamespaceSystem || slices.ContainsFunc(meta.ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == manifests.FieldManager })
	last, err := time.Parse(time.RFC3339, template.Annotations[restartedAt])
	if !own && !wanted || err == nil && !last.Before(since) {
		return own, nil
	}
	now := time.Now()
	if now.Before(since) {
		now = since
	}
	if err := w.restart(ctx, client, now); err != nil {
		return own, fmt.Errorf("start the pods of %s anew: %w", w, err)
	}
	return own, nil
}

// restartedAt is what kubectl rollout restart sets.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// read is nil for what has no template of pods that can be changed.
func (w workload) read(ctx context.Context, client kubernetes.Interface) (*metav1.ObjectMeta, *corev1.PodTemplateSpec, error) {
	apps := client.AppsV1()
	switch w.kind {
	case "deployment":
		d, err := apps.Deployments(w.namespace).Get(ctx, w.name, metav1.GetOptions{})
		return &d.ObjectMeta, &d.Spec.Template, err
	case "daemonset":
		d, err := apps.DaemonSets(w.namespace).Get(ctx, w.name, metav1.GetOptions{})
		return &d.ObjectMeta, &d.Spec.Template, err
	case "statefulset":
		s, err := apps.StatefulSets(w.namespace).Get(ctx, w.name, metav1.GetOptions{})
		return &s.ObjectMeta, &s.Spec.Template, err
	}
	return nil, nil, nil
}

func (w workload) restart(ctx context.Context, client kubernetes.Interface, at time.Time) (err error) {
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`, restartedAt, at.UTC().Format(time.RFC3339))
	apps, by := client.AppsV1(), metav1.PatchOptions{FieldManager: manifests.FieldManager}
	switch w.kind {
	case "deployment":
		_, err = apps.Deployments(w.namespace).Patch(ctx, w.name, types.StrategicMergePatchType, patch, by)
	case "daemonset":
		_, err = apps.DaemonSets(w.namespace).Patch(ctx, w.name, types.StrategicMergePatchType, patch, by)
	case "statefulset":
		_, err = apps.StatefulSets(w.namespace).Patch(ctx, w.name, types.StrategicMergePatchType, patch, by)
	}
	return err
}
