package site

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/kubeadm/kube"
)

// Annotations of a Node. They show the progress of an upgrade on each host. The value is the ID of a bundle.
const (
	BundleNote   = "airgap.dev/bundle"   // set by the host: it runs this bundle
	PreparedNote = "airgap.dev/prepared" // set by the host: it has the files of this bundle
	UpgradeNote  = "airgap.dev/upgrade"  // the node is drained: the host can be upgraded to this bundle now
)

// OwnNote returns the value of an annotation of this host's Node, read with the kubelet's credentials.
func (s *Site) OwnNote(ctx context.Context, key string) (string, error) {
	client, err := kube.Client(s.Machine.Machine, kube.KubeletConf)
	if err != nil {
		return "", err
	}
	node, err := kube.Retry(ctx, func(ctx context.Context) (map[string]string, error) {
		node, err := client.CoreV1().Nodes().Get(ctx, s.Node.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return node.Annotations, nil
	})
	if err != nil {
		return "", fmt.Errorf("read the Node of this host: %w", err)
	}
	return node[key], nil
}

// Annotate sets an annotation of a Node.
func Annotate(ctx context.Context, client kubernetes.Interface, node, key, value string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)
	_, err := kube.Retry(ctx, func(ctx context.Context) (any, error) {
		return client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	})
	if err != nil {
		return fmt.Errorf("annotate node %s with %s: %w", node, key, err)
	}
	return nil
}

// Noted returns an error unless the annotation key of the node has the value id.
func Noted(node *corev1.Node, key, id string) error {
	if node.Annotations[key] != id {
		return fmt.Errorf("it has not reported this (annotation %s)", key)
	}
	return nil
}
