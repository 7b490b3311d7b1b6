package leave

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/kube"
)

// fromBefore reports whether an object is from before the restore of the cluster: its resource
// version is at most the revision of the snapshot. Kubernetes specifies resource versions as
// comparable numbers (KEP-5504).
func fromBefore(o metav1.Object, revision int64) bool {
	version, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	return err == nil && version <= revision
}

// RevokeRestoredTokens deletes the join tokens from a snapshot with this revision: some of them may have been
// used after the snapshot, and each is valid only once.
func RevokeRestoredTokens(m Member, revision int64) step.Step {
	return step.Step{
		Name: "old-codes", Title: "Revoke the restored join tokens",
		Done: func(ctx context.Context) (bool, error) {
			client, err := kube.Client(m.Machine, kube.AdminConf)
			if err != nil {
				return false, err
			}
			old, err := oldTokens(ctx, client, revision)
			return len(old) == 0, err
		},
		Plan: func(context.Context) ([]string, error) {
			return []string{"delete bootstrap tokens from before the restore"}, nil
		},
		Run: func(ctx context.Context) error {
			client, err := kube.Client(m.Machine, kube.AdminConf)
			if err != nil {
				return err
			}
			return revokeOld(ctx, client, revision)
		},
	}
}

func revokeOld(ctx context.Context, client kubernetes.Interface, revision int64) error {
	old, err := oldTokens(ctx, client, revision)
	if err != nil {
		return err
	}
	for _, token := range old {
		err := client.CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, token.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("revoke a join token: %w", err)
		}
	}
	return nil
}

func oldTokens(ctx context.Context, client kubernetes.Interface, revision int64) ([]corev1.Secret, error) {
	tokens, err := client.CoreV1().Secrets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{FieldSelector: "type=" + string(corev1.SecretTypeBootstrapToken)})
	if err != nil {
		return nil, fmt.Errorf("list the join tokens: %w", err)
	}
	return slices.DeleteFunc(tokens.Items, func(s corev1.Secret) bool { return !fromBefore(&s, revision) }), nil
}

// LostNodes returns the sorted names of nodes with kubelets that do not report after the restore from a
// snapshot with this revision. It waits up to 3 minutes until each node has renewed its lease or
// is no longer Ready, which normally takes less than a minute.
func LostNodes(ctx context.Context, client kubernetes.Interface, revision int64) ([]string, error) {
	var lost []string
	err := await.Until(ctx, 3*time.Minute, func(ctx context.Context) error {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list the nodes: %w", err)
		}
		back, err := heartbeats(ctx, client, revision)
		if err != nil {
			return err
		}
		var open []string
		lost = nil
		for _, n := range nodes.Items {
			switch {
			case back[n.Name]:
			case kube.NodeReady(&n):
				open = append(open, n.Name)
			default:
				lost = append(lost, n.Name)
			}
		}
		if len(open) > 0 {
			return fmt.Errorf("no heartbeat of %s since the restore, and the nodes are still Ready", strings.Join(open, ", "))
		}
		return nil
	})
	slices.Sort(lost)
	return lost, err
}

// heartbeats has the nodes that have renewed their leases since the restore.
func heartbeats(ctx context.Context, client kubernetes.Interface, revision int64) (map[string]bool, error) {
	leases, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the leases of the nodes: %w", err)
	}
	back := map[string]bool{}
	for _, l := range leases.Items {
		back[l.Name] = !fromBefore(&l, revision)
	}
	return back, nil
}
