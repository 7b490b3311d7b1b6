package settings

import (
	"cmp"
	"fmt"
)

// Peers are the hosts that connect to a port.
type Peers string

// Values of Peers. Nodes are the nodes of airgap.yaml.
const (
	OnlySelf     Peers = "this host"
	OnlyMasters  Peers = "control-plane nodes"
	OnlyNodes    Peers = "nodes"
	FromAnywhere Peers = "anywhere"
)

// registryProgram is the name of airgap's registry in the table.
const registryProgram = "registry"

// HostPortProgram is the name of the pods with a hostPort in the table: no program of the host listens
// there, but the pod takes the packets of one that does.
const HostPortProgram = "hostPort test"

// HostPort is the port of these pods: outside of the ranges of NodePorts and of outgoing connections, and
// not assigned by IANA.
const HostPort = 10479

// Port is a row of the table of ports: for the host's firewall, for the checks
// before an installation, and for the network team.
type Port struct {
	First, Last int
	Protocol    string // "tcp" or "udp"
	Program     string // listening program; "" if packets are redirected instead
	From        Peers
	Why         string
}

// String is the port as firewalld writes it: "6443/tcp", "30000-32767/udp".
func (p Port) String() string { return p.numbers() + "/" + p.Protocol }

func (p Port) numbers() string {
	if p.First == p.Last {
		return fmt.Sprint(p.First)
	}
	return fmt.Sprintf("%d-%d", p.First, p.Last)
}

// Listens has the listeners of a cluster on a host that not every host has.
type Listens struct {
	ControlPlane bool
	Registry     int    // its port; 0 when the host serves none
	Network      []Port // the pod network's
	HostPort     int    // the test of hostPort; 0 without one
}

// Ports is the table for such a host.
func (l Listens) Ports() []Port {
	var ports []Port
	add := func(applies bool, number, last int, protocol, program string, from Peers, why string) {
		if applies {
			ports = append(ports, Port{number, cmp.Or(last, number), protocol, program, from, why})
		}
	}
	add(l.ControlPlane, 6443, 0, "tcp", "kube-apiserver", FromAnywhere, "nodes, the load balancer and administrators")
	add(l.ControlPlane, 2379, 0, "tcp", "etcd clients", OnlyMasters, "API servers of other hosts read and write there")
	add(l.ControlPlane, 2380, 0, "tcp", "etcd peers", OnlyMasters, "members of etcd agree there")
	add(l.ControlPlane, 2381, 0, "tcp", "etcd metrics", OnlySelf, "health")
	add(l.ControlPlane, 10257, 0, "tcp", "kube-controller-manager", OnlySelf, "health")
	add(l.ControlPlane, 10259, 0, "tcp", "kube-scheduler", OnlySelf, "health")
	add(true, 10250, 0, "tcp", "kubelet", OnlyNodes, "logs, exec and metrics")
	add(true, 10248, 0, "tcp", "kubelet health", OnlySelf, "health")
	add(true, 10249, 0, "tcp", "kube-proxy metrics", OnlySelf, "metrics")
	add(true, 10256, 0, "tcp", "kube-proxy health", FromAnywhere, "load balancers ask there which node to send to")
	add(l.Registry > 0, l.Registry, 0, "tcp", registryProgram, OnlyNodes, "images, packages, and files for joining hosts")
	ports = append(ports, l.Network...)
	add(l.HostPort > 0, l.HostPort, 0, "tcp", HostPortProgram, OnlySelf, "airgap's pod connects to its own hostPort; packets from anywhere are redirected to it")
	add(true, 30000, 32767, "tcp", "", FromAnywhere, "Services of type NodePort and LoadBalancer")
	add(true, 30000, 32767, "udp", "", FromAnywhere, "Services of type NodePort and LoadBalancer")
	return ports
}
