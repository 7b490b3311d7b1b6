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
	"airgap.dev/airgap/kubeadm/exchange"
	"airgap.dev/airgap/kubeadm/kube"
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

// startPods has all pods that read the cluster's authority be started after both were
// published.
func (p *participant) startPods(ctx context.Context) error {
	since, err := p.trustedSince(ctx)
	if err != nil {
		return err
	}
	last := ""
	err = p.patiently(ctx, exchange.GatherTime, func(ctx context.Context, client kubernetes.Interface) error {
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
		x := exchange.Exchange{Client: client, Node: p.node, Name: replacementName}
		m, err := x.Read(ctx)
		if err == nil && m == nil {
			err = errors.New("the Secret " + replacementName + " is gone")
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

// oldTrusters are the workloads with a pod that reads the cluster's authority and was
// started before a time.
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

// startedBefore reports whether a program of a pod that lives may have read a file
// as it was before the time: a container that was started again within an old pod
// needs the kubelet to have brought the new one. A pod that was made because of a restart
// of then is none of before, whatever the clock says that gave it its second.
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
