package cni

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// plugin is the seam: what the program has to know of one of them. The
// configuration that it gets has nothing left to decide.
type plugin interface {
	// name is the one in airgap.yaml.
	name() string
	// defaults fills in its port and its own section.
	defaults(*Config)
	// check reports what the plugin cannot do, in a defaulted section.
	check(Config, *field.Path) field.ErrorList
	// images are those that no fetched object shows: what every node runs, and
	// what only some do.
	images(Config) (nodes, others []string)
	// upstream is what has to be fetched; the zero value is nothing.
	upstream(Config, Cluster) Upstream
	// objects patches what was fetched, which it may change, or makes its own.
	objects(Config, Cluster, []*unstructured.Unstructured) ([]*unstructured.Unstructured, error)
	// traces are what it leaves on a host.
	traces() Traces
	// needs are what it asks of a kernel and of what others set on a node.
	needs() Needs
	// ports are those that its programs listen on.
	ports(Config) []Port
	// system names its namespaces and the workloads that have to run.
	system(Config) (namespaces, workloads []string)
	// forms are configurations of it whose workloads differ.
	forms() []Config
}

func plugins() []plugin { return []plugin{flannel{}, calico{}, cilium{}} }

func pluginNames() (names []string) {
	for _, p := range plugins() {
		names = append(names, p.name())
	}
	return names
}

// plugin is the configured one; flannel where the name is none, which Validate
// reports.
func (c Config) plugin() plugin {
	all := plugins()
	return all[max(0, slices.IndexFunc(all, func(p plugin) bool { return p.name() == c.Plugin }))]
}

// Cluster is what a pod network has to fit.
type Cluster struct {
	PodSubnet string // IPv4 network, as in kubernetes.podSubnet
	ProxyMode string // kube-proxy's: "iptables" (also when "") or "nftables"
	Nodes     int    // of the whole cluster
}

// Upstream is what a plugin takes of its project when the bundle is made: files
// of objects, or a chart.
type Upstream struct {
	Namespace string   // of objects that name none
	Manifests []string // https URLs, or paths relative to airgap.yaml
	Chart     *Chart
}

// Empty reports whether nothing is fetched.
func (u Upstream) Empty() bool { return len(u.Manifests) == 0 && u.Chart == nil }

// Chart is a Helm chart with the values that make it what airgap.yaml says.
type Chart struct {
	Repository    string // https URL, or oci://HOST/PATH
	Name, Version string
	Path          string // of a directory or an archive, instead of the three
	Values        map[string]any
}

// Port is one that a plugin's program listens on.
type Port struct {
	Number   int
	Protocol string // "tcp" or "udp"
	Program  string
	Why      string
	Local    bool // only programs of the same host connect
}

// Traces are what pod networks leave on a host, whichever plugin it was. A
// kind of their own, since no package but the caller knows both sides.
type Traces struct {
	Links, Tables, Chains, Paths, Dirs, Data []string // as kubeadm.Traces
}

// and adds what t has not yet, in order: plugins share directories.
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

// cniDirs are those of the runtime's plugins, each before the one it lies in.
func cniDirs() []string {
	return []string{"/var/lib/cni/networks", "/var/lib/cni", "/etc/cni/net.d", "/etc/cni", "/opt/cni/bin", "/opt/cni"}
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

// vxlanPort is the row of the tunnel, which no program listens on: the kernel does.
func vxlanPort(c Config) []Port {
	if c.VXLANPort() == 0 {
		return nil
	}
	return []Port{{Number: c.Port, Protocol: "udp", Program: "VXLAN", Why: "packets between pods of different nodes"}}
}
