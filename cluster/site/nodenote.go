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

// Annotations of a Node: how far an upgrade has come on each host. The value is the ID of a bundle.
const (
	BundleNote   = "airgap.dev/bundle"   // set by the host: it runs this bundle
	PreparedNote = "airgap.dev/prepared" // set by the host: it has the files of this bundle
	UpgradeNote  = "airgap.dev/upgrade"  // the host may be upgraded to this one now, for its pods are elsewhere
)

// OwnNote is an annotation of this host's Node, as the kubelet may read it.
func (s *Site) OwnNote(ctx context.Context, key string) (string, error) {
	client, err := kube.Client(s.Machine.Machine, kube.KubeletConf)
	if err != nil {
		return "", err
	}
	node, err := kube.Patiently(ctx, func(ctx context.Context) (map[string]string, error) {
		node, err := client.CoreV1().Nodes().Get(ctx, s.Node.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return node.Annotations, nil
	})
	if err != nil {
		return "", fmt.Errorf("ask for this host's own Node: %w", err)
	}
	return node[key], nil
}

// Annotate sets an annotation of a Node.
func Annotate(ctx context.Context, client kubernetes.Interface, node, key, value string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)
	_, err := kube.Patiently(ctx, func(ctx context.Context) (any, error) {
		return client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	})
	if err != nil {
		return fmt.Errorf("annotate node %s with %s: %w", node, key, err)
	}
	return nil
}

// Noted is nil where a node has the annotation key for the bundle of this ID.
func Noted(node *corev1.Node, key, id string) error {
	if node.Annotations[key] != id {
		return fmt.Errorf("it has not said so (annotation %s)", key)
	}
	return nil
}
