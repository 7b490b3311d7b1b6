package cni

import (
	"fmt"
	"net/netip"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/host"
)

// plugin is the interface of a network plugin. Its Config arguments are settled: without Auto.
type plugin interface {
	// name returns the name in airgap.yaml.
	name() string
	// defaults fills the port and the plugin's section.
	defaults(*Config)
	// check returns an error for every value that the plugin does not support. The section has defaults.
	check(Config, *field.Path) field.ErrorList
	// images returns the images that no fetched object contains: those for every node, and those for
	// some nodes.
	images(Config) (nodes, others []string)
	// upstream returns the downloads; the zero value for none.
	upstream(Config, Cluster) Upstream
	// objects patches the fetched objects, which it may change, or returns its own.
	objects(Config, Cluster, []*unstructured.Unstructured) ([]*unstructured.Unstructured, error)
	// traces returns its artifacts on a host.
	traces() Traces
	// needs returns its requirements for a kernel and for settings of a node.
	needs() Needs
	// ports returns the ports of its programs.
	ports(Config) []Port
	// system returns its namespaces and the workloads that must run.
	system(Config) (namespaces, workloads []string)
	// portmap reports whether its CNI configuration has the plugin portmap, for hostPort.
	portmap() bool
	// forms returns its configurations with different workloads.
	forms() []Config
}

func plugins() []plugin { return []plugin{flannel{}, calico{}, cilium{}} }

func pluginNames() (names []string) {
	for _, p := range plugins() {
		names = append(names, p.name())
	}
	return names
}

// plugin returns the configured plugin; flannel for an unknown name, which Validate reports.
func (c Config) plugin() plugin {
	all := plugins()
	return all[max(0, slices.IndexFunc(all, func(p plugin) bool { return p.name() == c.Plugin }))]
}

// Cluster has the properties of the cluster that a pod network depends on.
type Cluster struct {
	PodSubnet string // IPv4 network, as in kubernetes.podSubnet
	ProxyMode string // kube-proxy's: "iptables" (also when "") or "nftables"
	Nodes     int    // of the whole cluster
}

// Upstream has the downloads from a plugin's project when the bundle is built: manifests or a chart.
type Upstream struct {
	Namespace string   // namespace of objects without one
	Manifests []string // https URLs, or paths relative to airgap.yaml
	Chart     *Chart
}

// Empty reports whether nothing is fetched.
func (u Upstream) Empty() bool { return len(u.Manifests) == 0 && u.Chart == nil }

// Chart is a Helm chart with the values from airgap.yaml.
type Chart struct {
	Repository    string // https URL, or oci://HOST/PATH
	Name, Version string
	Path          string // of a directory or an archive, instead of Repository, Name and Version
	Values        map[string]any
}

// Port is a port of a plugin's program.
type Port struct {
	Number   int
	Protocol string // "tcp" or "udp"
	Program  string
	Why      string
	Local    bool // only programs of the same host connect
}

// Traces are the artifacts of pod networks on a host. It is a separate type, because only the caller
// imports both this package and kubeadm.
type Traces struct {
	Links, Tables, Chains, Paths, Dirs, Data []string // as in kubeadm.Traces
}

// and appends the values of more without duplicates, because plugins share directories.
func (t Traces) and(more Traces) Traces {
	add := func(have, more []string) []string {
		for _, one := range more {
			if !slices.Contains(have, one) {
				have = append(have, one)
			}
		}
		return have
	}
	return Traces{
		Links: add(t.Links, more.Links), Tables: add(t.Tables, more.Tables), Chains: add(t.Chains, more.Chains),
		Paths: add(t.Paths, more.Paths), Dirs: add(t.Dirs, more.Dirs), Data: add(t.Data, more.Data),
	}
}

// cniDirs returns the directories of CNI plugins, each before its parent directory.
func cniDirs() []string {
	return []string{"/var/lib/cni/networks", "/var/lib/cni", host.SharedCNIDir, path.Dir(host.SharedCNIDir), "/opt/cni/bin", "/opt/cni"}
}

func parseSubnet(text string) (netip.Prefix, error) {
	subnet, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("parse pod subnet: %w", err)
	}
	if !subnet.Addr().Is4() || subnet.Masked() != subnet {
		return netip.Prefix{}, fmt.Errorf("parse pod subnet: %s is not an IPv4 network address", text)
	}
	return subnet, nil
}

// vxlanPort returns the port of the tunnel. The kernel listens on it, not a program.
func vxlanPort(c Config) []Port {
	if c.VXLANPort() == 0 {
		return nil
	}
	return []Port{{Number: c.Port, Protocol: "udp", Program: "VXLAN", Why: "packets between pods of different nodes"}}
}
