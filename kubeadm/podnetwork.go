package kubeadm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// awaitPodNetwork waits until a pod of the pods' network runs on this host, so that
// another one can start: kubeadm upgrade apply gives a Job of its own one minute (check
// CreateJob), which a host that has just booted does not keep. The network plugin's own
// pods do not tell: flannel's counts as ready before it has written what others need.
func (u Upgrade) awaitPodNetwork(ctx context.Context) error {
	ignored := func(check string) bool { return strings.EqualFold(check, "CreateJob") || check == "all" }
	if u.Networked == "" || slices.ContainsFunc(u.Config.IgnorePreflightErrors, ignored) {
		return nil
	}
	if err := await(ctx, u.Config.APIPatience(), u.networkedRuns); err != nil {
		return &Failure{
			What: "wait for the pods' network on " + u.Node.Name + ", before anything is upgraded", Err: err,
			Next: "kubectl --kubeconfig " + AdminConf + " get pods -A -o wide --field-selector spec.nodeName=" + u.Node.Name + " shows the plugin's pods, too",
		}
	}
	return nil
}

// networkedRuns is nil when the DaemonSet's pod on this host is ready, by the very
// containers that run now: after a reboot the API server shows the pod as it was
// before, until the kubelet has looked at it. A cluster of an older airgap has no such
// DaemonSet.
func (u Upgrade) networkedRuns(ctx context.Context) error {
	running, err := u.Machine.runningContainers(ctx)
	if err != nil {
		return err
	}
	client, err := u.Machine.Client(AdminConf)
	if err != nil {
		return err
	}
	namespace, name, _ := strings.Cut(u.Networked, "/")
	_, err = client.AppsV1().DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask for DaemonSet %s: %w", u.Networked, err)
	}
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + u.Node.Name})
	if err != nil {
		return fmt.Errorf("ask for the pods of DaemonSet %s: %w", u.Networked, err)
	}
	for _, pod := range pods.Items {
		if owner := metav1.GetControllerOf(&pod); owner != nil && owner.Kind == "DaemonSet" && owner.Name == name && ranBy(pod, running) {
			return nil
		}
	}
	return fmt.Errorf("DaemonSet %s has no pod on %s that is ready", u.Networked, u.Node.Name)
}

// ranBy reports whether a pod is ready, and all its containers are among the running
// ones.
func ranBy(pod corev1.Pod, running []string) bool {
	for _, c := range pod.Status.ContainerStatuses {
		_, id, _ := strings.Cut(c.ContainerID, "://")
		if !c.Ready || !slices.Contains(running, id) {
			return false
		}
	}
	return len(pod.Status.ContainerStatuses) > 0
}

// runningContainers are the IDs of all containers that the runtime runs.
func (m Machine) runningContainers(ctx context.Context) ([]string, error) {
	var ids []string
	err := m.containers(ctx, 10*time.Second, func(ctx context.Context, client runtimeapi.RuntimeServiceClient) error {
		list, err := client.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{
			State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING},
		}})
		for _, c := range list.GetContainers() {
			ids = append(ids, c.Id)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask the runtime for its containers: %w", err)
	}
	return ids, nil
}
