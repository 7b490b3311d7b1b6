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

// removedName is the ConfigMap with the nodes that were removed, and when. The
// bundle is signed and goes on to list them. Without a record nobody could tell a
// node that was removed from one that vanished; and only the cluster is there to be
// asked on whichever host somebody works next.
const removedName = "airgap-removed-nodes"

// Removed are the names of nodes that were taken out of the cluster and have not
// been let in again.
func Removed(ctx context.Context, client kubernetes.Interface) ([]string, error) {
	record, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, removedName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask which nodes were removed: %w", err)
	}
	return slices.Sorted(maps.Keys(record.Data)), nil
}

// NoteRemoved writes down that a node was removed.
func NoteRemoved(ctx context.Context, client kubernetes.Interface, node string) error {
	_, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: removedName}}, kube.ByUs())
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	if err == nil {
		err = setRemoved(ctx, client, node, time.Now().UTC().Format(time.RFC3339))
	}
	if err != nil {
		return fmt.Errorf("write down that %s was removed: %w", node, err)
	}
	return nil
}

// LetIn takes that back: the node is to come again.
func LetIn(ctx context.Context, client kubernetes.Interface, node string) error {
	err := setRemoved(ctx, client, node, nil)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write down that %s may join: %w", node, err)
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
