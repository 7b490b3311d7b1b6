package encryption

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/retry"

	"airgap.dev/airgap/manifests"
)

const rewritePage = 500

// RewriteSecrets has the API server write every Secret again, which encrypts
// it with the first key. A patch that changes nothing does it: the server sees
// that the stored bytes are of another key. So the values never leave it, an
// immutable Secret is fine too, and one that was rewritten already is not
// written twice.
func RewriteSecrets(ctx context.Context, client metadata.Interface, done func(n int)) (int, error) {
	secrets := client.Resource(corev1.SchemeGroupVersion.WithResource("secrets"))
	n, page := 0, metav1.ListOptions{Limit: rewritePage}
	for {
		list, err := secrets.List(ctx, page)
		if apierrors.IsResourceExpired(err) { // it took too long: from the beginning, where nothing is left to do
			n, page.Continue = 0, ""
			continue
		}
		if err != nil {
			return n, fmt.Errorf("list Secrets: %w", err)
		}
		for _, s := range list.Items {
			if err := rewriteSecret(ctx, secrets.Namespace(s.Namespace), s.Name); err != nil {
				return n, fmt.Errorf("write Secret %s/%s again: %w", s.Namespace, s.Name, err)
			}
			n++
		}
		done(n)
		if page.Continue = list.Continue; page.Continue == "" {
			return n, nil
		}
	}
}

func rewriteSecret(ctx context.Context, secrets metadata.ResourceInterface, name string) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		_, err := secrets.Patch(ctx, name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{FieldManager: manifests.FieldManager})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil // deleted meanwhile
	}
	return err
}
