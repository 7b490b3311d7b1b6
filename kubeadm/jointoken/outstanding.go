package jointoken

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Outstanding counts the join tokens of one node that have not expired.
type Outstanding struct {
	Unused int // no host has requested a certificate with them
	Used   int // the host is joining, or its join was interrupted
}

// OutstandingTokens returns the join tokens that have not expired, by node.
func OutstandingTokens(ctx context.Context, client kubernetes.Interface) (map[string]Outstanding, error) {
	tokens, err := client.CoreV1().Secrets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: nodeLabel})
	if err != nil {
		return nil, fmt.Errorf("list the join tokens: %w", err)
	}
	all := map[string]Outstanding{}
	for _, token := range tokens.Items {
		if !isValid(token, time.Now()) {
			continue
		}
		node := token.Labels[nodeLabel]
		o := all[node]
		if token.Annotations[usedNote] != "" {
			o.Used++
		} else {
			o.Unused++
		}
		all[node] = o
	}
	return all, nil
}

// isValid reports whether a Secret is a join token of airgap that has not expired.
func isValid(token corev1.Secret, now time.Time) bool {
	ends, err := time.Parse(time.RFC3339, string(token.Data["expiration"]))
	return err == nil && ends.After(now) && string(token.Data["description"]) == tokenDescription
}
