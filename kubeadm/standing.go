package kubeadm

import (
	"fmt"
	"net/url"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
)

// SameEndpoint refuses a configuration that has the API servers elsewhere: the
// endpoint is in every certificate and in every kubelet's configuration.
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
		What: "reach the API servers at " + c.ControlPlaneEndpoint, Err: fmt.Errorf("this cluster has them at %s, on every node", at.Host),
		Next: "have kubernetes.controlPlaneEndpoint: " + at.Host + " in airgap.yaml; a balancer can take that address over",
	}
}
