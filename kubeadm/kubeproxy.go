package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
)

const kubeProxy = "kube-proxy" // the DaemonSet, and the ConfigMap that its pods read when they start

// KubeProxy lets kubeadm write kube-proxy's configuration, which kubeadm upgrade does not
// replace. It runs on the first host after the upgrade of all API servers: kube-proxy must not be
// newer than any of them (version skew policy).
func (u Upgrade) KubeProxy() step.Step {
	return step.Step{
		Name: "kube-proxy", Title: "Upgrade kube-proxy",
		Done: func(context.Context) (bool, error) {
			want, err := u.proxy()
			if err != nil {
				return false, err
			}
			return host.FileMatches(u.Machine.Path(leave.ProxyConfiguredFile), want, 0o600)
		},
		Plan: func(context.Context) ([]string, error) {
			return []string{"kubeadm init phase addon kube-proxy: Kubernetes " + u.Config.Tag()}, nil
		},
		Run: func(ctx context.Context) error {
			if err := u.kubeProxy(ctx); err != nil {
				return err
			}
			want, err := u.proxy()
			if err != nil {
				return err
			}
			return errors.Join(host.WriteFile(u.Machine.Path(leave.ProxyConfiguredFile), want, 0o600), host.Remove(u.Machine.Path(leave.ProxyPendingFile)))
		},
	}
}

// proxy is the complete configuration of kube-proxy, with its version.
func (u Upgrade) proxy() ([]byte, error) {
	text, err := documents(proxy(u.Config, u.Facts))
	return fmt.Appendf(text, "# %s\n", u.Config.Tag()), err
}

// kubeProxy restarts the pods if their configuration has changed, or if an interrupted run may
// have changed it: they read it only at the start.
func (u Upgrade) kubeProxy(ctx context.Context) error {
	client, err := kube.Client(u.Machine.Machine, kube.AdminConf)
	if err != nil {
		return err
	}
	_, notBegun := os.Stat(u.Machine.Path(leave.ProxyPendingFile))
	before, err := proxyConfig(ctx, client)
	if err != nil {
		return err
	}
	if err := host.WriteFile(u.Machine.Path(leave.ProxyPendingFile), nil, 0o600); err != nil {
		return err
	}
	if err := u.writeConfig(); err != nil {
		return err
	}
	if err := node.Kubeadm(ctx, u.Machine.Machine, nil, nil, "init", "phase", "addon", kubeProxy, "--config", u.Machine.Path(leave.ConfigFile)); err != nil {
		return err
	}
	after, err := proxyConfig(ctx, client)
	if err != nil || after == nil || notBegun != nil && maps.Equal(before, after) {
		return err
	}
	if err := (kube.Workload{Kind: "daemonset", Namespace: metav1.NamespaceSystem, Name: kubeProxy}).Restart(ctx, client, time.Now()); err != nil {
		return fmt.Errorf("restart the pods of kube-proxy: %w", err)
	}
	return nil
}

// proxyConfig is the configuration of kube-proxy's pods; nil if the cluster has no kube-proxy
// because another program replaces it.
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
