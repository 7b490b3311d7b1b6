package leave

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/manifests"
)

// removedName is the ConfigMap with the removed nodes and the times of their removal. It
// distinguishes removed nodes from lost ones, because the signed bundle still lists both. It is in
// the cluster so that every host can read it.
const removedName = "airgap-removed-nodes"

// Removed returns the sorted names of removed nodes that were not readmitted (Readmit).
func Removed(ctx context.Context, client kubernetes.Interface) ([]string, error) {
	record, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, removedName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the removed nodes: %w", err)
	}
	return slices.Sorted(maps.Keys(record.Data)), nil
}

// NoteRemoved records the removal of a node.
func NoteRemoved(ctx context.Context, client kubernetes.Interface, node string) error {
	_, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: removedName}}, kube.CreateOptions())
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	if err == nil {
		err = setRemoved(ctx, client, node, time.Now().UTC().Format(time.RFC3339))
	}
	if err != nil {
		return fmt.Errorf("record the removal of node %s: %w", node, err)
	}
	return nil
}

// Readmit deletes the record of NoteRemoved, so that the node can join again.
func Readmit(ctx context.Context, client kubernetes.Interface, node string) error {
	err := setRemoved(ctx, client, node, nil)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the record of the removal of node %s: %w", node, err)
	}
	return nil
}

func setRemoved(ctx context.Context, client kubernetes.Interface, node string, at any) error {
	text, err := json.Marshal(map[string]any{"data": map[string]any{node: at}})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Patch(ctx, removedName, types.MergePatchType, text, metav1.PatchOptions{FieldManager: manifests.FieldManager})
	return err
}
