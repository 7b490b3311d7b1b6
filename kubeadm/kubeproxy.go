package kubeadm

import (
	"context"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const kubeProxy = "kube-proxy" // the DaemonSet, and the ConfigMap that its pods read when they start

// kubeProxy has kubeadm write kube-proxy's configuration, and starts its pods anew
// where that has changed: they would not notice.
func (u Upgrade) kubeProxy(ctx context.Context) error {
	client, err := u.Machine.Client(AdminConf)
	if err != nil {
		return err
	}
	before, err := proxyConfig(ctx, client)
	if err != nil {
		return err
	}
	if err := u.Machine.kubeadm(ctx, nil, nil, "init", "phase", "addon", kubeProxy, "--config", u.Machine.path(ConfigFile)); err != nil {
		return err
	}
	after, err := proxyConfig(ctx, client)
	if err != nil || maps.Equal(before, after) {
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"airgap.dev/configured":%q}}}}}`, time.Now().UTC().Format(time.RFC3339))
	if _, err := client.AppsV1().DaemonSets(metav1.NamespaceSystem).Patch(ctx, kubeProxy, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("start the pods of kube-proxy anew: %w", err)
	}
	return nil
}

// proxyConfig is what kube-proxy's pods are configured with; nil where there is none,
// since another program does its work.
func proxyConfig(ctx context.Context, client kubernetes.Interface) (map[string]string, error) {
	config, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, kubeProxy, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read kube-proxy's configuration: %w", err)
	}
	return config.Data, nil
}
