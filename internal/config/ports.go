package config

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/settings"
)

// NetworkPorts are the pod network's in the table of ports.
func (c *Cluster) NetworkPorts() []settings.Port {
	var ports []settings.Port
	for _, p := range cni.Ports(c.Network) {
		from := settings.OnlyNodes
		if p.Local {
			from = settings.OnlySelf
		}
		ports = append(ports, settings.Port{First: p.Number, Last: p.Number, Protocol: p.Protocol, Program: p.Program, From: from, Why: p.Why})
	}
	return ports
}

// validatePorts keeps the ports that a site chooses off those that Kubernetes
// and the pod network have on the same hosts.
func (c *Cluster) validatePorts(registry, network *field.Path) field.ErrorList {
	taken := settings.Listens{ControlPlane: true}
	problems := clash(network.Child("port"), c.Network.Port, "udp", taken)
	taken.Network = c.NetworkPorts()
	if c.Network.TestsHostPort(c.Kubernetes.SetProxyMode()) {
		taken.HostPort = settings.HostPort
	}
	return append(problems, clash(registry.Child("port"), c.Registry.Port, "tcp", taken)...)
}

func clash(at *field.Path, number int, protocol string, taken settings.Listens) field.ErrorList {
	for _, p := range taken.Ports() {
		if p.Protocol == protocol && p.First <= number && number <= p.Last {
			return field.ErrorList{field.Invalid(at, number, fmt.Sprintf("%s on the same host belongs to %s", p, cmp.Or(p.Program, p.Why)))}
		}
	}
	return nil
}
