package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/remote"
)

// NodeDefaults are the fields that nodes share: all nodes, or those of a group.
type NodeDefaults struct {
	Roles []Role           `yaml:"roles" json:"roles,omitempty" jsonschema:"minItems=1,enum=control-plane,enum=worker,enum=gpu,description=Roles of a node that sets none"`
	Rack  string           `yaml:"rack" json:"rack,omitempty" jsonschema:"example=r12,description=Rack of a node that sets none"`
	SSH   *remote.Override `yaml:"ssh" json:"ssh,omitempty" jsonschema:"description=SSH settings of a node. A setting at the node replaces the same one here. address and hostKey belong to one server and are not allowed here"`
}

// origin says where a node after the expansion was written.
type origin struct {
	item  int // of nodes in the file
	roles *field.Path
	rack  *field.Path
	ssh   *field.Path

	broken bool // the item could not be expanded
}

// expand replaces the nodes of the file by one node for each server: ranges are counted, groups and
// defaults are filled in. The rest of the program sees only these nodes. An item that cannot be
// expanded stays as it is.
func (c *Cluster) expand() field.ErrorList {
	at := field.NewPath("nodes")
	all := c.validateDefaults()
	var nodes []Node
	c.origins = nil
	for i, item := range c.Nodes {
		p := at.Index(i)
		from := origin{item: i, roles: p.Child("roles"), rack: p.Child("rack"), ssh: p.Child("ssh")}
		if item.SSH != nil {
			all = append(all, item.SSH.Validate(p.Child("ssh"))...)
		}
		if item.Group != "" {
			group, known := c.NodeGroups[item.Group]
			if !known {
				all = append(all, c.noGroup(p.Child("group"), item.Group))
			}
			item.inherit(group, &from, field.NewPath("nodeGroups").Child(item.Group))
		}
		item.inherit(c.NodeDefaults, &from, field.NewPath("nodeDefaults"))
		some, problems := item.Expand(p)
		if len(nodes)+len(some) > hostrange.Max {
			all = append(all, field.Invalid(p.Child("name"), item.Name, fmt.Sprintf("a cluster has at most %d nodes", hostrange.Max)))
			break
		}
		from.broken = len(problems) > 0
		all, nodes = append(all, problems...), append(nodes, some...)
		c.origins = append(c.origins, slices.Repeat([]origin{from}, len(some))...)
	}
	c.Nodes = nodes
	return all
}

func (c *Cluster) noGroup(at *field.Path, name string) *field.Error {
	if len(c.NodeGroups) == 0 {
		return field.Invalid(at, name, "the file has no nodeGroups: add nodeGroups."+name+" with the fields that its nodes share")
	}
	return field.NotSupported(at, name, slices.Sorted(maps.Keys(c.NodeGroups)))
}

// inherit fills in the fields that the node does not set.
func (n *Node) inherit(d NodeDefaults, from *origin, at *field.Path) {
	if len(n.Roles) == 0 && len(d.Roles) > 0 {
		n.Roles, from.roles = d.Roles, at.Child("roles")
	}
	if n.Rack == "" && d.Rack != "" {
		n.Rack, from.rack = d.Rack, at.Child("rack")
	}
	if d.SSH == nil {
		return
	}
	var merged remote.Override
	if n.SSH == nil {
		from.ssh = at.Child("ssh")
	} else {
		merged = *n.SSH
	}
	merged.User, merged.Port, merged.IdentityFile = cmp.Or(merged.User, d.SSH.User), cmp.Or(merged.Port, d.SSH.Port), cmp.Or(merged.IdentityFile, d.SSH.IdentityFile)
	n.SSH = &merged
}

// Expand returns the nodes of an item with ranges, or the node itself. With problems it also returns
// the node itself.
func (n Node) Expand(at *field.Path) ([]Node, field.ErrorList) {
	itself := []Node{n}
	names, err := hostrange.Expand(n.Name)
	if err != nil {
		return itself, field.ErrorList{field.Invalid(at.Child("name"), n.Name, err.Error())}
	}
	addresses, wrong := n.each(at.Child("address"), n.Address, len(names))
	if wrong != nil {
		return itself, field.ErrorList{wrong}
	}
	var ssh remote.Override
	if n.SSH != nil {
		ssh = *n.SSH
	}
	reached := make([]string, len(names))
	if ssh.Address != "" {
		if reached, wrong = n.each(at.Child("ssh", "address"), ssh.Address, len(names)); wrong != nil {
			return itself, field.ErrorList{wrong}
		}
	}
	if ssh.HostKey != "" && len(names) > 1 {
		return itself, field.ErrorList{field.Invalid(at.Child("ssh", "hostKey"), ssh.HostKey, n.Name+" stands for several servers, and each has its own key: write an item for each")}
	}
	all := make([]Node, len(names))
	for i := range names {
		all[i] = n
		all[i].Name, all[i].Address = names[i], addresses[i]
		if n.SSH != nil {
			its := ssh
			its.Address = reached[i]
			all[i].SSH = &its
		}
	}
	return all, nil
}

// each expands the range of a field that belongs to the range of the name.
func (n Node) each(at *field.Path, text string, count int) ([]string, *field.Error) {
	all, err := hostrange.Expand(text)
	if err != nil {
		return nil, field.Invalid(at, text, err.Error())
	}
	if len(all) != count {
		return nil, field.Invalid(at, text, fmt.Sprintf("has %d of the %d values that %s needs: want a range of the same length, such as name: node[001-100] with address: 10.1.0.[11-110]", len(all), count, n.Name))
	}
	return all, nil
}

// validateDefaults judges the shared fields where they are written.
func (c *Cluster) validateDefaults() field.ErrorList {
	all := c.NodeDefaults.validate(field.NewPath("nodeDefaults"))
	for _, name := range slices.Sorted(maps.Keys(c.NodeGroups)) {
		all = append(all, c.NodeGroups[name].validate(field.NewPath("nodeGroups").Child(name))...)
	}
	return all
}

func (d NodeDefaults) validate(at *field.Path) field.ErrorList {
	all := append(validateRoles(d.Roles, at.Child("roles")), validateRack(d.Rack, at.Child("rack"))...)
	if d.SSH == nil {
		return all
	}
	all = append(all, d.SSH.Validate(at.Child("ssh"))...)
	for name, value := range map[string]string{"address": d.SSH.Address, "hostKey": d.SSH.HostKey} {
		if value != "" {
			all = append(all, field.Invalid(at.Child("ssh", name), value, "belongs to one server: set it at the node"))
		}
	}
	return all
}
