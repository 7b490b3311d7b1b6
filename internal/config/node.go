package config

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/hostrange"
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
	Name    string           `yaml:"name" json:"name" jsonschema:"required,example=cp1" jsonschema_description:"Name of the Kubernetes node and the host: a DNS label. A range such as node[001-100] stands for one node for each number, and address needs a range of the same length."`
	Address string           `yaml:"address" json:"address" jsonschema:"required,example=10.0.0.11" jsonschema_description:"IPv4 address at which the other nodes reach this node. With a range in name, a range such as 10.1.0.[11-110]: the first address belongs to the first name."`
	Group   string           `yaml:"group" json:"group,omitempty" jsonschema:"description=Name in nodeGroups. The node has the fields of the group that it does not set"`
	Roles   []Role           `yaml:"roles" json:"roles" jsonschema:"minItems=1,enum=control-plane,enum=worker,enum=gpu" jsonschema_description:"Roles of the node: control-plane, worker and gpu. gpu makes GPUs available to containers and requires worker. The number of control-plane nodes is 1, 3, 5 or 7. Required here, in the group or in nodeDefaults."`
	Rack    string           `yaml:"rack" json:"rack,omitempty" jsonschema:"example=r12" jsonschema_description:"Rack or site of the server, any name. With more than fifty servers, the measurement between the servers covers every two racks. Without it, the /24 subnet of the address counts as the rack."`
	SSH     *remote.Override `yaml:"ssh" json:"ssh,omitempty" jsonschema:"description=SSH settings of this server that differ from the section ssh"`
	Absent  *Absent          `yaml:"absent" json:"absent,omitempty" jsonschema_description:"The server is not there for some time: it has not been delivered, or it is being repaired. Commands leave it out, and airgap verify does not report it before the date. Not allowed for the first control-plane node."`
}

// Has reports whether the node has the role.
func (n Node) Has(r Role) bool { return slices.Contains(n.Roles, r) }

func (c *Cluster) validateNodes(at *field.Path) field.ErrorList {
	var all field.ErrorList
	names, addresses := map[string]int{}, map[string]int{} // to the item
	masters := 0
	for i, n := range c.Nodes {
		if n.Has(ControlPlane) {
			masters++
		}
		from := c.origins[i]
		if from.broken {
			continue
		}
		p := at.Index(from.item)
		all = append(all, n.validate(p)...)
		if len(n.Roles) == 0 {
			all = append(all, field.Required(p.Child("roles"), "set it here, in a group of nodeGroups or in nodeDefaults"))
		}
		all = append(all, validateRoles(n.Roles, from.roles)...)
		all = append(all, validateRack(n.Rack, from.rack)...)
		all = append(all, n.Absent.validate(p.Child("absent"), n, c.Master())...)
		all = append(all, twice(p.Child("name"), n.Name, names, from.item, at)...)
		all = append(all, twice(p.Child("address"), n.Address, addresses, from.item, at)...)
	}
	// An even number of etcd members tolerates no more failures than one member less.
	if masters%2 == 0 || masters > 7 {
		all = append(all, field.Invalid(at, masters, "want 1, 3, 5 or 7 nodes with the role control-plane"))
	}
	return all
}

const hasItToo = " has it too"

var hasIt = regexp.MustCompile(`: nodes\[(\d+)\]` + hasItToo)

// twice reports a value that another node has.
func twice(p *field.Path, value string, seen map[string]int, item int, at *field.Path) field.ErrorList {
	first, is := seen[value]
	if !is {
		seen[value] = item
		return nil
	}
	again := field.Duplicate(p, value)
	again.Detail = at.Index(first).String() + hasItToo
	return field.ErrorList{again}
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

// maxName is the length of the label kubernetes.io/hostname, without which a kubelet cannot register.
const maxName = 63

func (n Node) validate(p *field.Path) field.ErrorList {
	var all field.ErrorList
	for _, msg := range validation.IsDNS1123Subdomain(n.Name) {
		all = append(all, field.Invalid(p.Child("name"), n.Name, msg))
	}
	if len(n.Name) > maxName {
		all = append(all, field.TooLong(p.Child("name"), "", maxName))
	}
	a, err := netip.ParseAddr(n.Address)
	if err != nil || !a.Is4() || a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		all = append(all, field.Invalid(p.Child("address"), n.Address, "want an IPv4 address such as 10.0.0.11"))
	}
	return all
}

func validateRoles(roles []Role, p *field.Path) field.ErrorList {
	if slices.Contains(roles, GPU) && !slices.Contains(roles, Worker) {
		return field.ErrorList{field.Invalid(p, roles, "gpu is for a node that is a worker too: nothing that uses GPUs runs elsewhere")}
	}
	return nil
}

func validateRack(rack string, p *field.Path) field.ErrorList {
	if len(rack) > maxRack {
		return field.ErrorList{field.TooLong(p, "", maxRack)}
	}
	if rack != strings.TrimSpace(rack) || strings.ContainsFunc(rack, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return field.ErrorList{field.Invalid(p, rack, "want printable text in one line, without spaces around it")}
	}
	return nil
}

// validateAddresses keeps the nodes out of the networks of pods and Services.
func (c *Cluster) validateAddresses(at *field.Path) field.ErrorList {
	subnets := []struct{ name, value string }{{"podSubnet", c.Kubernetes.PodSubnet}, {"serviceSubnet", c.Kubernetes.ServiceSubnet}}
	var all field.ErrorList
	for i, n := range c.Nodes {
		a, err := netip.ParseAddr(n.Address)
		if err != nil {
			continue // validateNodes reports it
		}
		for _, s := range subnets {
			if subnet, err := netip.ParsePrefix(s.value); err == nil && subnet.Contains(a) {
				all = append(all, field.Invalid(at.Index(c.origins[i].item).Child("address"), n.Address, fmt.Sprintf("is in kubernetes.%s %s: set another %[1]s", s.name, s.value)))
			}
		}
	}
	return all
}

// maxListed is the number of nodes that a message names with their addresses.
const maxListed = 10

// ListNodes names nodes in a message: NAME (ADDRESS), or only the names, as ranges, if there are many.
func ListNodes(nodes []Node) string {
	names, both := make([]string, len(nodes)), make([]string, len(nodes))
	for i, n := range nodes {
		names[i], both[i] = n.Name, n.Name+" ("+n.Address+")"
	}
	if len(nodes) > maxListed {
		return hostrange.Join(names)
	}
	return strings.Join(both, ", ")
}
