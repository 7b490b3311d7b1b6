package config

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/kubeadm"
)

// validatePorts keeps the ports that a site chooses off those that Kubernetes
// has on the same hosts.
func (c *Cluster) validatePorts(registry, network *field.Path) field.ErrorList {
	return append(clash(registry.Child("port"), c.Registry.Port, "tcp"), clash(network.Child("port"), c.Network.Port, "udp")...)
}

func clash(at *field.Path, number int, protocol string) field.ErrorList {
	for _, p := range (kubeadm.Listens{ControlPlane: true}).Ports() {
		if p.Protocol == protocol && p.First <= number && number <= p.Last {
			return field.ErrorList{field.Invalid(at, number, fmt.Sprintf("%s on the same host belongs to %s", p, cmp.Or(p.Program, p.Why)))}
		}
	}
	return nil
}
