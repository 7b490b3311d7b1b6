package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/kube"
)

const dnsPods = "k8s-app=kube-dns" // of kubeadm's CoreDNS

// SpreadDNS puts the pods of CoreDNS on more than one host. On the day of
// kubeadm init there was only one, and nothing moves them later: losing it
// would leave the cluster without names for minutes.
func SpreadDNS(m host.Machine) step.Step {
	return step.Step{
		Name: "spread-dns", Title: "Let CoreDNS run on more than one host",
		Done: func(ctx context.Context) (bool, error) {
			client, err := kube.Client(m, kube.AdminConf)
			if err != nil {
				return false, err
			}
			pods, err := hostedDNS(ctx, client)
			return err == nil && crowded(pods) == nil, err
		},
		Plan: func(context.Context) ([]string, error) {
			return []string{"delete a pod of CoreDNS that shares its host with the others: it comes back elsewhere"}, nil
		},
		Run: func(ctx context.Context) error { return spreadDNS(ctx, m) },
	}
}

// spreadDNS waits for the new host, since otherwise a pod would return to its
// old host, and deletes one pod, which its Deployment creates again on another host.
func spreadDNS(ctx context.Context, m host.Machine) error {
	client, err := kube.Client(m, kube.AdminConf)
	if err != nil {
		return err
	}
	if err := await.Until(ctx, 3*time.Minute, func(ctx context.Context) error { return twoReady(ctx, client) }); err != nil {
		return err
	}
	return await.Until(ctx, time.Minute, func(ctx context.Context) error {
		pods, err := hostedDNS(ctx, client)
		if err != nil || len(pods) > 1 && crowded(pods) == nil {
			return err
		}
		if pod := crowded(pods); pod != nil {
			err := client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
			return errors.Join(fmt.Errorf("CoreDNS runs on %s alone", pod.Spec.NodeName), err)
		}
		return errors.New("a pod of CoreDNS has no host yet")
	})
}

// hostedDNS are the pods of CoreDNS that have a host and will stay there.
func hostedDNS(ctx context.Context, client kubernetes.Interface) ([]corev1.Pod, error) {
	list, err := client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: dnsPods})
	if err != nil {
		return nil, fmt.Errorf("find the pods of CoreDNS: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil || p.Spec.NodeName == "" }), nil
}

// crowded is one of several pods that are all on one host, or nil.
func crowded(pods []corev1.Pod) *corev1.Pod {
	if len(pods) < 2 || slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Spec.NodeName != pods[0].Spec.NodeName }) {
		return nil
	}
	return &pods[0]
}

func twoReady(ctx context.Context, client kubernetes.Interface) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ready := 0
	for _, n := range nodes.Items {
		if kube.NodeReady(&n) {
			ready++
		}
	}
	if ready < 2 {
		return fmt.Errorf("wait for a second host that can run CoreDNS: %d of %d are ready", ready, len(nodes.Items))
	}
	return nil
}
