package install

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/kube"
)

// NetworkStep installs the pod network.
func NetworkStep(s *site.Site, from nodesteps.Source) step.Step {
	n := cni.Network{
		Config: s.Config.Network, Cluster: s.Config.PodCluster(s.Config.Kubernetes.ProxyMode(s.Facts)),
		Connect: func() (*rest.Config, error) { return kube.RESTConfig(s.Machine.Machine, kube.AdminConf) },
	}
	if locked := s.Index.Lock.Network; locked != nil {
		n.Fetched = func(ctx context.Context) ([]*unstructured.Unstructured, error) {
			return objects(ctx, from, locked.Addon)
		}
	}
	return cni.Step(n)
}
