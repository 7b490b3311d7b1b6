package cni

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/netip"

	"airgap.dev/airgap/manifests"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	flannelImage       = "ghcr.io/flannel-io/flannel:v0.28.4"
	flannelPluginImage = "ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1"
)

func flannelImages() []string { return []string{flannelImage, flannelPluginImage} }

// flannelNetConf is flanneld's own configuration, net-conf.json.
type flannelNetConf struct {
	Network        string
	EnableNFTables bool // kube-proxy is in iptables mode on EL 8 and 9, so is flannel
	Backend        flannelBackend
}

type flannelBackend struct {
	Type          string
	Port          int
	MTU           int `json:",omitempty"`
	DirectRouting bool
}

// flannelValues are what manifests/flannel.yaml asks for.
type flannelValues struct {
	Image, PluginImage string
	NetConf, CNIConf   string
	Checksum           string // of both configurations
}

func flannelObjects(config Config, podSubnet netip.Prefix) ([]*unstructured.Unstructured, error) {
	netConf, err := json.Marshal(flannelNetConf{
		Network: podSubnet.String(),
		Backend: flannelBackend{Type: VXLAN, Port: config.Port, MTU: config.MTU},
	})
	if err != nil {
		return nil, fmt.Errorf("write flannel configuration: %w", err)
	}
	cniConf, err := json.Marshal(flannelPlugins())
	if err != nil {
		return nil, fmt.Errorf("write CNI configuration: %w", err)
	}
	sum := sha256.Sum256(append(netConf, cniConf...))
	return manifests.Render("flannel.yaml", flannelValues{
		Image: flannelImage, PluginImage: flannelPluginImage,
		NetConf: string(netConf), CNIConf: string(cniConf),
		Checksum: fmt.Sprintf("%x", sum[:8]),
	})
}

// flannelPlugins is the chain the container runtime runs for each pod, in
// the form of a CNI .conflist: flannel, which delegates to bridge, then
// portmap for hostPort.
func flannelPlugins() any {
	type object = map[string]any
	return object{
		"name":       "cbr0",
		"cniVersion": "1.0.0",
		// CRI-O asks each pod's plug-ins whether all is as it was (CHECK), but flannel's does
		// not hand on to bridge what that has to compare.
		"disableCheck": true,
		"plugins": []object{
			{"type": "flannel", "delegate": object{"hairpinMode": true, "isDefaultGateway": true}},
			{"type": "portmap", "capabilities": object{"portMappings": true}},
		},
	}
}

// flannelLeaves: its own interface and chains; those of the CNI plugins it
// calls, bridge, host-local and portmap; what its pods wrote.
func flannelLeaves() Traces {
	return Traces{
		Links:  []string{"flannel.1", "cni0"},
		Tables: []string{"flannel-ipv4", "flannel-ipv6", "cni_hostport"},
		Chains: []string{"FLANNEL-", "CNI-HOSTPORT-", "CNI-DN-"},
		Paths: []string{
			"/run/flannel", "/etc/cni/net.d/10-flannel.conflist", "/opt/cni/bin/flannel",
			"/var/lib/cni/flannel", "/var/lib/cni/cache", "/var/lib/cni/networks/cbr0", "/var/lib/cni/results",
		},
		Dirs: []string{"/var/lib/cni/networks", "/var/lib/cni", "/etc/cni/net.d", "/etc/cni", "/opt/cni/bin", "/opt/cni"},
	}
}
