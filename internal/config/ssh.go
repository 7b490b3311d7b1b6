package config

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/remote"
)

// Remote is how the node is reached through SSH. Only with the section ssh.
func (c *Cluster) Remote(n Node) remote.Host { return c.SSH.Host(n.Name, n.Address, n.SSH) }

// Jumps returns the jump hosts in front of a node, the first one first. Only with the section ssh.
func (c *Cluster) Jumps(n Node) []remote.Hop {
	texts := c.SSH.ProxyJump
	if n.SSH != nil && len(n.SSH.ProxyJump) > 0 {
		texts = n.SSH.ProxyJump
	}
	hops, _ := remote.ParseHops(texts) // valid, as the file is
	return hops
}

// validateSSH judges the section ssh together with the ssh fields of the nodes.
func (c *Cluster) validateSSH(at *field.Path) field.ErrorList {
	var all field.ErrorList
	if c.SSH != nil {
		all = c.SSH.Validate(at)
	}
	reached := map[string]bool{}
	for i, n := range c.Nodes {
		if n.SSH == nil {
			continue
		}
		p := c.origins[i].ssh
		if c.SSH == nil {
			all = append(all, field.Invalid(p, n.Name, "without the section ssh airgap does not log in to servers: add ssh: {} at the top of the file"))
			continue
		}
		h := c.Remote(n)
		login := h.User + "@" + h.Addr() // a gateway such as PSM for SSH has one address, and a user for each host
		if n.SSH.Address != "" && reached[login] {
			all = append(all, field.Duplicate(p.Child("address"), n.SSH.Address))
		}
		reached[login] = true
	}
	return all
}
