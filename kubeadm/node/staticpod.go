package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/runtime"
)

// graceSeconds is the time for the program of a static pod to end. A stopping API
// server refuses requests while it waits for watches, which do not end: in the lab
// it used all of its 30 s. Running requests end within five.
func graceSeconds(part Part) int64 {
	if part == APIServer {
		return 5
	}
	return 30 // as the kubelet gives
}

// RestartOlder ends the containers of a static pod that were made before the
// time; the kubelet restarts the program. It reports whether there was one.
func RestartOlder(ctx context.Context, m host.Machine, part Part, node string, before time.Time, say func(string, ...any)) (bool, error) {
	again := false
	err := runtime.Containers(ctx, m, time.Minute, func(ctx context.Context, client runtimeapi.RuntimeServiceClient) error {
		running, err := runningOf(ctx, client, part, node)
		for _, c := range running {
			if !time.Unix(0, c.CreatedAt).Before(before) {
				continue
			}
			if !again {
				say("%s is restarted", part)
			}
			again = true
			if err := endContainer(ctx, client, c.Id, graceSeconds(part)); err != nil {
				return fmt.Errorf("end the container of %s: %w", part, err)
			}
		}
		return err
	})
	return again, err
}

// endContainer ends a container and takes it away: for one that has ended the
// kubelet would wait before it starts the next, ten seconds and then longer.
func endContainer(ctx context.Context, client runtimeapi.RuntimeServiceClient, id string, grace int64) error {
	if _, err := client.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: grace}); err != nil {
		return err
	}
	_, err := client.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id})
	return err
}

// runningOf returns the running containers of a static pod, normally one. It uses the
// names that the kubelet gives them in the runtime.
func runningOf(ctx context.Context, client runtimeapi.RuntimeServiceClient, part Part, node string) ([]*runtimeapi.Container, error) {
	list, err := client.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{
		State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING},
		LabelSelector: map[string]string{
			"io.kubernetes.pod.namespace": metav1.NamespaceSystem, "io.kubernetes.pod.name": podOf(part, node), "io.kubernetes.container.name": string(part),
		},
	}})
	if err != nil {
		return nil, fmt.Errorf("ask the runtime for the container of %s: %w", part, err)
	}
	return list.Containers, nil
}

// podOf is the name that the API server has for a static pod.
func podOf(part Part, node string) string { return string(part) + "-" + node }

// StaticPodReady returns nil if the only running container was created after the
// time, and the kubelet has reported this container as ready to the API server.
func StaticPodReady(ctx context.Context, m host.Machine, part Part, node string, after time.Time) error {
	var running []*runtimeapi.Container
	err := runtime.Containers(ctx, m, 10*time.Second, func(ctx context.Context, client runtimeapi.RuntimeServiceClient) (err error) {
		running, err = runningOf(ctx, client, part, node)
		return err
	})
	if err != nil {
		return err
	}
	if len(running) != 1 || time.Unix(0, running[0].CreatedAt).Before(after) {
		return fmt.Errorf("the kubelet has not started %s again", part)
	}
	client, err := kube.Client(m, kube.AdminConf)
	if err != nil {
		return err
	}
	pod, err := client.CoreV1().Pods(metav1.NamespaceSystem).Get(ctx, podOf(part, node), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("ask whether %s is ready: %w", part, err)
	}
	ready := slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Ready && strings.HasSuffix(s.ContainerID, running[0].Id)
	})
	if !ready {
		return fmt.Errorf("%s has been started, and is not ready yet", part)
	}
	return nil
}

// PodIn reads a static pod's manifest, strictly: the pod has at least one container.
func PodIn(manifest []byte) (*corev1.Pod, error) {
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict(manifest, &pod); err != nil {
		return nil, err
	}
	if len(pod.Spec.Containers) == 0 {
		return nil, errors.New("it is no pod with a container")
	}
	return &pod, nil
}
