package config

import (
	"slices"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/preflight"
)

// PodCluster has the properties of the cluster that the pod network depends on, for this mode of kube-proxy.
func (c *Cluster) PodCluster(proxyMode string) cni.Cluster {
	return cni.Cluster{PodSubnet: c.Kubernetes.PodSubnet, ProxyMode: proxyMode, Nodes: len(c.Nodes)}
}

// PreflightRoles are the roles of the node of that name as preflight has them; none where
// there is no such node.
func (c *Cluster) PreflightRoles(name string) []preflight.Role {
	i := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	var roles []preflight.Role
	for _, r := range c.Nodes[i].Roles {
		roles = append(roles, preflight.Role(r))
	}
	return roles
}
