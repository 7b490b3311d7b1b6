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

// What a cluster has from before its restore, and what came after, is told by the
// resource versions: those of a snapshot end with its revision. That they are
// numbers to be compared is stated by Kubernetes (KEP-5504).

func fromBefore(o metav1.Object, revision int64) bool {
	version, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	return err == nil && version <= revision
}

// RevokeOld takes back the codes for joining that were in a snapshot of that
// revision: some of them have been used since, and each is good for one host.
func RevokeOld(m Member, revision int64) step.Step {
	return step.Step{
		Name: "old-codes", Title: "Take back the codes for joining that were restored",
		Done: func(ctx context.Context) (bool, error) {
			client, err := kube.Client(m.Machine, kube.AdminConf)
			if err != nil {
				return false, err
			}
			old, err := oldTokens(ctx, client, revision)
			return len(old) == 0, err
		},
		Plan: func(context.Context) ([]string, error) { return []string{"delete bootstrap tokens of before"}, nil },
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
			return fmt.Errorf("take back a code for joining: %w", err)
		}
	}
	return nil
}

func oldTokens(ctx context.Context, client kubernetes.Interface, revision int64) ([]corev1.Secret, error) {
	tokens, err := client.CoreV1().Secrets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{FieldSelector: "type=" + string(corev1.SecretTypeBootstrapToken)})
	if err != nil {
		return nil, fmt.Errorf("list the codes for joining: %w", err)
	}
	return slices.DeleteFunc(tokens.Items, func(s corev1.Secret) bool { return !fromBefore(&s, revision) }), nil
}

// Lost are the names of the nodes whose kubelets have not come back to a cluster
// that was restored from a snapshot of that revision, sorted. It waits until the
// cluster itself has given each of them up, after less than a minute as a rule, or
// has heard of it.
func Lost(ctx context.Context, client kubernetes.Interface, revision int64) ([]string, error) {
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
			return fmt.Errorf("the cluster has neither heard of %s nor given them up", strings.Join(open, ", "))
		}
		return nil
	})
	slices.Sort(lost)
	return lost, err
}

// heartbeats are the nodes whose kubelets have renewed their leases since.
func heartbeats(ctx context.Context, client kubernetes.Interface, revision int64) (map[string]bool, error) {
	leases, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the nodes' heartbeats: %w", err)
	}
	back := map[string]bool{}
	for _, l := range leases.Items {
		back[l.Name] = !fromBefore(&l, revision)
	}
	return back, nil
}
