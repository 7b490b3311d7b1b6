package main

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/cmd/airgap/config"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
)

// podCluster is what the pod network has to fit, where kube-proxy has that mode.
func podCluster(c *config.Cluster, proxyMode string) cni.Cluster {
	return cni.Cluster{PodSubnet: c.Kubernetes.PodSubnet, ProxyMode: proxyMode, Nodes: len(c.Nodes)}
}

// networkStep brings up the pod network.
func (s *site) networkStep() step.Step {
	return cni.Step(cni.Network{
		Config: s.config.Network, Cluster: podCluster(s.config, s.config.Kubernetes.ProxyMode(s.facts)),
		Connect: func() (*rest.Config, error) { return s.machine.RESTConfig(kubeadm.AdminConf) },
	})
}

// systemOf is what has to run in a cluster: Kubernetes' own and the pod
// network's. Where no airgap.yaml is at hand, the cluster tells which one it has.
func systemOf(ctx context.Context, client kubernetes.Interface, network *cni.Config) (namespaces, workloads []string, err error) {
	if network == nil {
		if network, err = networkOf(ctx, client); err != nil {
			return nil, nil, err
		}
	}
	namespaces, workloads = cni.System(*network)
	namespaces = append([]string{metav1.NamespaceSystem}, namespaces...)
	slices.Sort(namespaces)
	return slices.Compact(namespaces), append([]string{"DaemonSet kube-system/kube-proxy", "Deployment kube-system/coredns"}, workloads...), nil
}

// networkOf is the first plugin with a workload in the cluster; the default one
// where there is none, which verification then misses. A cluster that does not
// answer is verification's to tell.
func networkOf(ctx context.Context, client kubernetes.Interface) (*cni.Config, error) {
	var network cni.Config
	network.Default()
	sets, err := client.AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return &network, nil //nolint:nilerr // as said above
	}
	for _, one := range cni.Known() {
		_, workloads := cni.System(one)
		for _, set := range sets.Items {
			if slices.Contains(workloads, fmt.Sprintf("DaemonSet %s/%s", set.Namespace, set.Name)) {
				return &one, nil
			}
		}
	}
	return &network, nil
}
