package nodesteps

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/verify/dataplane"
)

// System lists the required workloads of a cluster: of Kubernetes, of the pod network,
// and the pods that test it.
type System struct {
	Namespaces, Workloads []string
	Links                 []string // of the pod network, on every host
}

// SystemOf returns the System of a cluster. If network is nil, it looks up the
// cluster's own network plugin.
func SystemOf(ctx context.Context, client kubernetes.Interface, network *cni.Config) (System, error) {
	if network == nil {
		var err error
		if network, err = networkOf(ctx, client); err != nil {
			return System{}, err
		}
	}
	namespaces, workloads := cni.System(*network)
	namespaces = append([]string{metav1.NamespaceSystem, dataplane.Namespace}, namespaces...)
	slices.Sort(namespaces)
	return System{
		Namespaces: slices.Compact(namespaces),
		Workloads: append([]string{
			"DaemonSet kube-system/kube-proxy", "Deployment kube-system/coredns", "DaemonSet " + dataplane.Namespace + "/" + dataplane.Name,
		}, workloads...),
		Links: slices.DeleteFunc(cni.Links(*network), func(name string) bool { return strings.HasSuffix(name, "*") }), // a link of a single pod
	}, nil
}

// networkOf is the first plugin with a workload in the cluster; the default one
// where there is none, which verification then misses.
func networkOf(ctx context.Context, client kubernetes.Interface) (*cni.Config, error) {
	var network cni.Config
	network.Default()
	sets, err := client.AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("find the pod network's DaemonSet: %w", err)
	}
	for _, one := range cni.AllConfigs() {
		_, workloads := cni.System(one)
		for _, set := range sets.Items {
			if slices.Contains(workloads, fmt.Sprintf("DaemonSet %s/%s", set.Namespace, set.Name)) {
				return &one, nil
			}
		}
	}
	return &network, nil
}
