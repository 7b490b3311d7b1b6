package cni

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/manifests"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	flannelImage       = "ghcr.io/flannel-io/flannel:v0.28.4"
	flannelPluginImage = "ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1"
	flannelConf        = "10-flannel.conflist"
)

// flannel is the default: it has the fewest images and needs no other downloads. It does not support
// NetworkPolicy.
type flannel struct{}

func (flannel) name() string { return Flannel }

func (flannel) defaults(c *Config) { c.Port = cmp.Or(c.Port, linuxPort) }

func (flannel) check(c Config, at *field.Path) field.ErrorList {
	return c.encapsulations(at, VXLAN, Native)
}

func (flannel) images(Config) (nodes, others []string) {
	return []string{flannelImage, flannelPluginImage}, nil
}

func (flannel) upstream(Config, Cluster) Upstream { return Upstream{} }

func (flannel) needs() Needs { return Needs{} }

func (flannel) ports(c Config) []Port { return vxlanPort(c) }

func (flannel) portmap() bool { return true }

func (flannel) forms() []Config { return []Config{{Plugin: Flannel}} }

func (flannel) system(Config) (namespaces, workloads []string) {
	return []string{"kube-flannel"}, []string{"DaemonSet kube-flannel/kube-flannel-ds"}
}

// flannelNetConf is flanneld's configuration, net-conf.json.
type flannelNetConf struct {
	Network        string
	EnableNFTables bool // the same mode as kube-proxy; on EL 8 and 9 it is iptables
	Backend        flannelBackend
}

type flannelBackend struct {
	Type          string
	Port          int   `json:",omitempty"`
	MTU           int   `json:",omitempty"`
	DirectRouting *bool `json:",omitempty"`
}

// flannelValues has the values of the template manifests/flannel.yaml.
type flannelValues struct {
	Image, PluginImage string
	NetConf, CNIConf   string
	ConfDir, ConfFile  string // of the plugins' configuration on the host
	Checksum           string // of both configurations
}

func (flannel) objects(config Config, cluster Cluster, _ []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	netConf, err := json.Marshal(flannelNetConf{
		Network:        cluster.PodSubnet,
		EnableNFTables: cluster.ProxyMode == nftables,
		Backend:        backendOf(config),
	})
	if err != nil {
		return nil, fmt.Errorf("write flannel configuration: %w", err)
	}
	cniConf, err := json.Marshal(flannelPlugins(config))
	if err != nil {
		return nil, fmt.Errorf("write CNI configuration: %w", err)
	}
	sum := sha256.Sum256(append(netConf, cniConf...))
	return manifests.Render("flannel.yaml", flannelValues{
		Image: flannelImage, PluginImage: flannelPluginImage,
		NetConf: string(netConf), CNIConf: string(cniConf),
		ConfDir: host.CNIDir, ConfFile: flannelConf,
		Checksum: fmt.Sprintf("%x", sum[:8]),
	})
}

// backendOf returns the backend of flannel. host-gw adds a route to each node for its pods, so all nodes
// must be in one layer-2 network. The MTU of pods is then the interface's.
func backendOf(config Config) flannelBackend {
	if config.Encapsulation == Native {
		return flannelBackend{Type: "host-gw"}
	}
	direct := false
	return flannelBackend{Type: VXLAN, Port: config.Port, MTU: config.MTU, DirectRouting: &direct}
}

// flannelPlugins returns the plugin chain for each pod as a CNI .conflist: flannel, which delegates to
// bridge, then portmap for hostPort.
func flannelPlugins(config Config) any {
	type object = map[string]any
	delegate := object{"hairpinMode": true, "isDefaultGateway": true}
	if config.Encapsulation == Native && config.MTU > 0 {
		delegate["mtu"] = config.MTU // the default is the interface's MTU
	}
	return object{
		"name":       "cbr0",
		"cniVersion": "1.0.0",
		// CRI-O calls CHECK of each pod's plugins, but flannel's plugin does not pass the previous
		// result to bridge.
		"disableCheck": true,
		"plugins": []object{
			{"type": "flannel", "delegate": delegate},
			{"type": "portmap", "capabilities": object{"portMappings": true}},
		},
	}
}

// traces returns flannel's interface and chains, those of the CNI plugins that it calls (bridge,
// host-local and portmap), and the files of its pods.
func (flannel) traces() Traces {
	return Traces{
		Links:  []string{"flannel.1", "cni0"},
		Tables: []string{"flannel-ipv4", "flannel-ipv6", "cni_hostport"},
		Chains: []string{"FLANNEL-", "CNI-HOSTPORT-", "CNI-DN-"},
		Paths: []string{
			"/run/flannel", host.SharedCNIDir + "/" + flannelConf, "/opt/cni/bin/flannel",
			"/var/lib/cni/flannel", "/var/lib/cni/cache", "/var/lib/cni/networks/cbr0", "/var/lib/cni/results",
		},
		Dirs: cniDirs(),
	}
}
