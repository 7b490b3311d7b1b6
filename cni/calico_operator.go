package cni

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/reference"
)

// calicoOperator adds the custom resources from which the operator creates the network. It does not
// change the operator's objects or the registry of its images, because every node's runtime uses the
// cluster's registries as mirrors.
func calicoOperator(p *patched, c Config, k Cluster, plane string) {
	p.fail(checkCalicoOperator(reference.TagOf(p.imageOf("Deployment", "tigera-operator", "tigera-operator", "tigera-operator")), c.Calico.version()))
	felix := felixSettings(c, plane)
	delete(felix, "nftablesMode") // the operator sets it from linuxDataplane
	if len(felix) > 0 {
		p.beforeWorkloads(p.resource(p.kind("FelixConfiguration"), felix))
	}
	p.objects = append(p.objects,
		calicoInstallation(p, c, k, plane),
		p.resource(p.kind("APIServer"), map[string]any{}),
	)
}

// calicoInstallation sets all fields that the operator would complete in lists that it writes back as a
// whole. Otherwise the operator would own the list of pools, and the next run would have a conflict.
// confDir exists since v1.40 of the operator (tigera/operator#3882).
func calicoInstallation(p *patched, c Config, k Cluster, plane string) *unstructured.Unstructured {
	kind := p.kind("Installation")
	pool := p.declared(kind, map[string]any{
		"name": "default-ipv4-ippool", "natOutgoing": "Enabled", "nodeSelector": "all()", "blockSize": int64(26),
		"disableBGPExport": false, "disableNewAllocations": false, "assignmentMode": "Automatic",
		"allowedUses": []any{"Workload", "Tunnel"},
	}, "spec", "calicoNetwork", "ipPools", "[]")
	pool["cidr"], pool["encapsulation"] = k.PodSubnet, operatorEncapsulation(c)
	network := map[string]any{
		"bgp": "Disabled", "linuxDataplane": map[string]string{iptables: "Iptables", nftables: "Nftables"}[plane],
		"ipPools":                    []any{pool},
		"nodeAddressAutodetectionV4": map[string]any{"kubernetes": "NodeInternalIP"},
	}
	if c.Calico.BGP {
		network["bgp"] = "Enabled"
	}
	if mtu := c.podMTU(); mtu > 0 {
		network["mtu"] = int64(mtu)
	}
	plugin := map[string]any{"type": "Calico", "ipam": map[string]any{"type": "Calico"}, "confDir": host.CNIDir}
	p.require(kind, plugin, "spec", "cni")
	p.require(kind, network, "spec", "calicoNetwork")
	p.require(kind, pool, "spec", "calicoNetwork", "ipPools", "[]")
	return p.resource(kind, map[string]any{
		"variant":       "Calico",
		"cni":           plugin,
		"calicoNetwork": network,
	})
}

// operatorEncapsulation returns the encapsulation of the operator's IP pool.
func operatorEncapsulation(c Config) string {
	switch c.Encapsulation {
	case CrossSubnet:
		return "VXLANCrossSubnet"
	case Native:
		return "None"
	default:
		return "VXLAN"
	}
}
