package config

import (
	"net"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/remote"
)

// Role is the role of a node.
type Role string

const (
	ControlPlane Role = "control-plane"
	Worker       Role = "worker"
	// GPU makes the GPUs of a worker available to containers. The checks require a GPU
	// and, if a driver is loaded, one that supports it.
	GPU Role = "gpu"
)

// Node is one server of the bank.
type Node struct {
	Name    string           `yaml:"name" json:"name" jsonschema:"required,description=Name of the Kubernetes node and the host: a DNS label such as cp1"`
	Address string           `yaml:"address" json:"address" jsonschema:"required,description=IPv4 address at which the other nodes reach this node"`
	Roles   []Role           `yaml:"roles" json:"roles" jsonschema:"required,minItems=1,enum=control-plane,enum=worker,enum=gpu" jsonschema_description:"Roles of the node: control-plane, worker and gpu. gpu makes GPUs available to containers and requires worker. The number of control-plane nodes is 1, 3, 5 or 7."`
	Rack    string           `yaml:"rack" json:"rack,omitempty" jsonschema:"example=r12" jsonschema_description:"Rack or site of the server, any name. With more than fifty servers, the measurement between the servers covers every two racks. Without it, the /24 subnet of the address counts as the rack."`
	SSH     *remote.Override `yaml:"ssh" json:"ssh,omitempty" jsonschema:"description=SSH settings of this server that differ from the section ssh"`
}

// Has reports whether the node has the role.
func (n Node) Has(r Role) bool { return slices.Contains(n.Roles, r) }

func validateNodes(nodes []Node, at *field.Path) field.ErrorList {
	var all field.ErrorList
	names, addresses := map[string]bool{}, map[string]bool{}
	masters := 0
	for i, n := range nodes {
		p := at.Index(i)
		all = append(all, n.validate(p)...)
		if names[n.Name] {
			all = append(all, field.Duplicate(p.Child("name"), n.Name))
		}
		if addresses[n.Address] {
			all = append(all, field.Duplicate(p.Child("address"), n.Address))
		}
		names[n.Name], addresses[n.Address] = true, true
		if n.Has(ControlPlane) {
			masters++
		}
	}
	// An even number of etcd members tolerates no more failures than one member less.
	if masters%2 == 0 || masters > 7 {
		all = append(all, field.Invalid(at, masters, "want 1, 3, 5 or 7 nodes with the role control-plane"))
	}
	return all
}

// validateEndpoint requires an address of the API server that survives the loss of any one of
// several control-plane hosts.
func (c *Cluster) validateEndpoint(at *field.Path) field.ErrorList {
	endpoint, _, err := net.SplitHostPort(c.Kubernetes.ControlPlaneEndpoint)
	if err != nil || len(c.ControlPlanes()) < 2 {
		return nil // the section judges its form itself
	}
	for _, n := range c.Nodes {
		if endpoint == n.Address || endpoint == n.Name {
			return field.ErrorList{field.Required(at,
				"several control-plane nodes need HOST:PORT of a load balancer or virtual IP that is none of the nodes: losing "+n.Name+" would lose the cluster")}
		}
	}
	return nil
}

// maxRack is more than the name of a rack needs.
const maxRack = 63

func (n Node) validate(p *field.Path) field.ErrorList {
	var all field.ErrorList
	for _, msg := range validation.IsDNS1123Subdomain(n.Name) {
		all = append(all, field.Invalid(p.Child("name"), n.Name, msg))
	}
	if a, err := netip.ParseAddr(n.Address); err != nil || !a.Is4() || a.IsLoopback() || a.IsUnspecified() {
		all = append(all, field.Invalid(p.Child("address"), n.Address, "want an IPv4 address such as 10.0.0.11"))
	}
	if len(n.Rack) > maxRack {
		all = append(all, field.TooLong(p.Child("rack"), "", maxRack))
	}
	if n.Has(GPU) && !n.Has(Worker) {
		all = append(all, field.Invalid(p.Child("roles"), n.Roles, "gpu is for a node that is a worker too: nothing that uses GPUs runs elsewhere"))
	}
	return all
}
