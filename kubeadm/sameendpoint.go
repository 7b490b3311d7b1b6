package kubeadm

import (
	"fmt"
	"net/url"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
)

// SameEndpoint refuses a configuration with another endpoint than the running cluster: every
// certificate and every kubelet's configuration contains the endpoint.
func SameEndpoint(m Machine, c Config) error {
	joined, err := m.Joined()
	if err != nil || !joined {
		return err
	}
	config, err := kube.RESTConfig(m.Machine, kube.AdminConf)
	if err != nil {
		return err
	}
	at, err := url.Parse(config.Host)
	if err != nil || at.Host == c.ControlPlaneEndpoint {
		return err
	}
	return &host.Failure{
		What: "reach the API servers at " + c.ControlPlaneEndpoint, Err: fmt.Errorf("every node of this cluster uses %s", at.Host),
		Next: "set kubernetes.controlPlaneEndpoint: " + at.Host + " in airgap.yaml; a load balancer can take over that address",
	}
}
