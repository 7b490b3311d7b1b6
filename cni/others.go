package cni

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// OtherError means that the cluster already has another pod network. Two networks would overwrite each
// other's CNI configuration.
type OtherError struct {
	Plugin   string // the existing one
	Workload string // the workload that shows it
	Wanted   string // the configured network
}

func (e *OtherError) Error() string {
	return fmt.Sprintf("apply %s: the cluster already has %s (%s); airgap does not change the pod network of a running cluster: restore network.plugin, or reset the hosts and install again", e.Wanted, e.Plugin, e.Workload)
}

// refuseOther returns an error if the cluster has workloads of another plugin, or of another form of the
// same plugin.
func refuseOther(ctx context.Context, api *rest.Config, config Config) error {
	there, err := workloadsIn(ctx, api)
	if err != nil {
		return fmt.Errorf("look for other pod networks: %w", err)
	}
	_, own := System(config)
	for _, other := range AllConfigs() {
		_, workloads := System(other)
		for _, w := range workloads {
			if slices.Contains(there, w) && !slices.Contains(own, w) {
				return &OtherError{Plugin: other.Plugin, Workload: w, Wanted: config.title()}
			}
		}
	}
	return nil
}

// workloadsIn returns the DaemonSets and Deployments of a cluster, in the format of System.
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
