package pki

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/phases"
)

// PodsPolicy selects the handling of pods that have read the old cluster CA at their start and
// would not trust a certificate of the new CA.
type PodsPolicy string

const (
	WaitForPods PodsPolicy = "wait"    // wait until the operator has restarted them
	RestartPods PodsPolicy = "restart" // restart their Deployment, DaemonSet or StatefulSet, as kubectl rollout restart does
	LeavePods   PodsPolicy = "leave"   // continue; pods that read the file only once cannot reach the API server until they restart
)

// refreshTime is the time within which the kubelet updates a changed ConfigMap in a pod: its
// syncFrequency of one minute, plus half of it because the kubelet spreads the syncs of pods.
const refreshTime = 90 * time.Second

// restartPods waits until all pods that read the cluster CA have started after both CAs were
// published. It restarts the pods of airgap and kubeadm, and the others as p.Pods says.
func (p *rotationMember) restartPods(ctx context.Context) error {
	since, err := p.trustedSince(ctx)
	if err != nil {
		return err
	}
	last := ""
	err = p.patiently(ctx, phases.GatherTime, func(ctx context.Context, client kubernetes.Interface) error {
		old, err := oldTrusters(ctx, client, since)
		if err != nil {
			return err
		}
		var waits []string
		for _, w := range old {
			own, err := w.RestartIf(ctx, client, since, p.Pods == RestartPods)
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
			p.Say("wait for the restart of pods that trust only the old CA: %s", text)
			if p.Pods == WaitForPods {
				p.Say("airgap restarts its own pods and those of kubeadm; restart the others with kubectl rollout restart, or use --pods restart")
			}
		}
		return fmt.Errorf("pods that trust only the old CA: %s", last)
	})
	if err != nil && ctx.Err() == nil {
		err = &host.Failure{What: "wait until pods trust both CAs", Err: err, Next: "restart them with kubectl rollout restart and run the same command again, or add --pods restart or --pods leave"}
	}
	return err
}

// trustedSince returns the time since which the pods' ConfigMaps have both CAs. The first call
// saves the current time in the rotation state.
func (p *rotationMember) trustedSince(ctx context.Context) (since time.Time, err error) {
	err = p.patiently(ctx, readyTime, func(ctx context.Context, client kubernetes.Interface) error {
		x := phases.Coordinator{Client: client, Node: p.node, Name: replacementName}
		m, err := x.Read(ctx)
		if err == nil && m == nil {
			err = errors.New("the Secret " + replacementName + " no longer exists")
		}
		if err != nil {
			return err
		}
		if since, err = time.Parse(time.RFC3339, string(m.Data[trustedField])); err == nil {
			return nil
		}
		since = time.Now().UTC().Truncate(time.Second).Add(time.Second)
		return x.Patch(ctx, map[string][]byte{trustedField: []byte(since.Format(time.RFC3339))})
	})
	return since, err
}

// restartOwnPods restarts the pods of airgap and kubeadm again, and returns the other workloads
// with pods that have not restarted since.
func (p *rotationMember) restartOwnPods(ctx context.Context) (others []string, err error) {
	now := time.Now().Truncate(time.Second)
	err = p.patiently(ctx, readyTime, func(ctx context.Context, client kubernetes.Interface) error {
		old, err := oldTrusters(ctx, client, now)
		if err != nil {
			return err
		}
		others = []string{}
		for _, w := range old {
			own, err := w.RestartIf(ctx, client, now, false)
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

// oldTrusters returns the workloads with a pod that reads the cluster CA and has started before
// since.
func oldTrusters(ctx context.Context, client kubernetes.Interface, since time.Time) ([]kube.Workload, error) {
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the pods: %w", err)
	}
	var all []kube.Workload
	for _, pod := range pods.Items {
		if !startedBefore(&pod, since) || !slices.ContainsFunc(pod.Spec.Volumes, hasRootCA) {
			continue
		}
		w, err := kube.WorkloadOf(ctx, client, &pod)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b kube.Workload) int { return strings.Compare(a.String(), b.String()) })
	return all, nil
}

// startedBefore reports whether a program of a running pod may have read the CA file as it was
// before since. A container that restarted in an old pod reads the new file only after the
// kubelet has updated it. A pod with a restart annotation of since or later never counts as
// old: its creation time comes from another clock.
func startedBefore(pod *corev1.Pod, since time.Time) bool {
	if made, err := time.Parse(time.RFC3339, pod.Annotations[kube.RestartedAt]); err == nil && !made.Before(since) {
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
