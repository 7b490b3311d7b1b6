package cni

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// OtherError says that the cluster has another pod network already. Two would
// both write what the runtime starts pods with.
type OtherError struct {
	Plugin   string // that is there
	Workload string // by which it was told
	Wanted   string
}

func (e *OtherError) Error() string {
	return fmt.Sprintf("bring up %s: the cluster has %s already (%s); the pod network of a running cluster is not changed: set network.plugin back, or reset the hosts and install anew", e.Wanted, e.Plugin, e.Workload)
}

// refuseOther wants no other plugin's workloads in the cluster, and no other
// form's of the same one.
func refuseOther(ctx context.Context, api *rest.Config, config Config) error {
	there, err := workloadsIn(ctx, api)
	if err != nil {
		return fmt.Errorf("look for other pod networks: %w", err)
	}
	_, own := System(config)
	for _, other := range Known() {
		_, workloads := System(other)
		for _, w := range workloads {
			if slices.Contains(there, w) && !slices.Contains(own, w) {
				return &OtherError{Plugin: other.Plugin, Workload: w, Wanted: config.title()}
			}
		}
	}
	return nil
}

// workloadsIn are the DaemonSets and Deployments of a cluster, as System writes
// them.
func workloadsIn(ctx context.Context, api *rest.Config) ([]string, error) {
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		return nil, err
	}
	var all []string
	sets, err := client.AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, one := range sets.Items {
		all = append(all, "DaemonSet "+one.Namespace+"/"+one.Name)
	}
	deployments, err := client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, one := range deployments.Items {
		all = append(all, "Deployment "+one.Namespace+"/"+one.Name)
	}
	return all, nil
}
