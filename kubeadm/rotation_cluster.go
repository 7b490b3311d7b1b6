package kubeadm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/phases"
)

// LiveCluster connects to the cluster of this control-plane host.
func LiveCluster(m Machine) (encryption.Cluster, error) {
	config, err := kube.RESTConfig(m.Machine, kube.AdminConf)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 100, 100 // one request per Secret; the API server limits the rate if needed
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	names, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return liveCluster{m, config, client, names}, nil
}

type liveCluster struct {
	machine Machine
	config  *rest.Config
	client  kubernetes.Interface
	names   metadata.Interface
}

func (c liveCluster) Hosts(ctx context.Context) ([]string, error) {
	at, err := encryption.APIServers(ctx, c.client)
	return slices.Sorted(maps.Keys(at)), err
}

func (c liveCluster) Loaded(ctx context.Context, hash string) error {
	at, err := encryption.APIServers(ctx, c.client)
	if err != nil {
		return err
	}
	for _, host := range slices.Sorted(maps.Keys(at)) {
		if err := encryption.Loaded(ctx, c.config, at[host], hash); err != nil {
			return err
		}
	}
	return nil
}

func (c liveCluster) Exchange(node string) phases.Coordinator {
	return phases.Coordinator{Client: c.client, Node: node, Name: encryption.RotationName}
}

// Revoke finds the tokens by the names of their Secrets, so that it reads no keys.
func (c liveCluster) Revoke(ctx context.Context) (int, error) {
	list, err := c.names.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("list the join tokens of control-plane hosts: %w", err)
	}
	n := 0
	for _, s := range list.Items {
		id, is := strings.CutPrefix(s.Name, jointoken.SecretsName(jointoken.JoinToken{}))
		if !is {
			continue
		}
		if err := jointoken.Revoke(ctx, c.client, jointoken.JoinToken{ID: id}); err != nil && !apierrors.IsNotFound(err) {
			return n, fmt.Errorf("revoke the join token %s: %w", id, err)
		}
		n++
	}
	return n, nil
}

func (c liveCluster) Rewrite(ctx context.Context, done func(int)) (int, error) {
	return encryption.RewriteSecrets(ctx, c.names, done)
}

func (c liveCluster) Others(ctx context.Context, prefix string) (int, error) {
	server, directory, err := c.machine.secretsOf()
	if err != nil {
		return 0, err
	}
	return server.Others(ctx, directory, prefix)
}
