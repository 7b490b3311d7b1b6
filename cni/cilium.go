package cni

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/reference"
)

// CiliumConfig is the section network.cilium of airgap.yaml.
type CiliumConfig struct {
	Version string `yaml:"version,omitempty" json:"version,omitempty" jsonschema:"default=1.20.3,example=1.20.3" jsonschema_description:"Exact version of Cilium and its Helm chart, 1.18 or later."`
	Source  string `yaml:"source,omitempty" json:"source,omitempty" jsonschema_description:"Source of the chart: a chart repository (https URL, or oci://HOST/PATH without the chart's name), or a directory or archive relative to airgap.yaml. Default: https://helm.cilium.io."`
}

const (
	firstCiliumMinor = 18 // of 1: values of earlier charts have other types
	ciliumVersion    = "1.20.3"
	ciliumCharts     = "https://helm.cilium.io"
)

// cilium supports NetworkPolicy and CiliumNetworkPolicy. kube-proxy stays, so that Services work in the
// same way with all plugins.
type cilium struct{}

func (cilium) name() string { return Cilium }

func (cilium) defaults(c *Config) {
	c.Port = cmp.Or(c.Port, linuxPort)
	c.Cilium.Version = cmp.Or(c.Cilium.Version, ciliumVersion)
}

func (cilium) check(c Config, at *field.Path) field.ErrorList {
	problems := c.encapsulations(at, VXLAN, Native)
	var major, minor int
	if _, err := fmt.Sscanf(line(c.Cilium.Version), "%d.%d", &major, &minor); err != nil || major != 1 || minor < firstCiliumMinor {
		problems = append(problems, field.Invalid(at.Child("cilium", "version"), c.Cilium.Version, "expected an exact version from 1.18 on, such as "+ciliumVersion))
	}
	return append(problems, checkSource(at.Child("cilium", "source"), c.Cilium.Source, "oci")...)
}

func (cilium) images(Config) (nodes, others []string) { return nil, nil }

func (cilium) upstream(c Config, k Cluster) Upstream {
	chart := &Chart{Values: ciliumValues(c, k)}
	if from := cmp.Or(c.Cilium.Source, ciliumCharts); strings.Contains(from, "://") {
		chart.Repository, chart.Name, chart.Version = from, "cilium", trimV(c.Cilium.Version)
	} else {
		chart.Path = from
	}
	return Upstream{Namespace: "kube-system", Chart: chart}
}

// ciliumValues returns the values of the chart. Nodes get their pod networks from Kubernetes, from
// kubernetes.podSubnet: a second allocator would contradict the Node objects. Hubble is disabled,
// because the chart would create its keys, and the bundle would contain them.
func ciliumValues(c Config, k Cluster) map[string]any {
	values := map[string]any{
		"kubeProxyReplacement":  false,
		"cni":                   map[string]any{"confPath": host.CNIDir},
		"ipam":                  map[string]any{"mode": "kubernetes"},
		"ipv4NativeRoutingCIDR": k.PodSubnet, // no NAT within this network
		"hubble":                map[string]any{"enabled": false},
		"operator":              map[string]any{"replicas": min(2, max(1, k.Nodes))}, // never two on one node
	}
	if c.Encapsulation == Native {
		values["routingMode"], values["autoDirectNodeRoutes"] = "native", true
	} else {
		values["routingMode"], values["tunnelProtocol"], values["tunnelPort"] = "tunnel", "vxlan", c.Port
	}
	if c.MTU > 0 {
		values["MTU"] = c.MTU
	}
	return values
}

// objects sets all values again in the rendered objects: Helm ignores values that a chart does not have,
// and later choices must be applied here.
func (cilium) objects(c Config, k Cluster, fetched []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	p := &patched{objects: fetched}
	p.fail(checkCilium("the chart", reference.TagOf(p.imageOf("DaemonSet", "kube-system", "cilium", "cilium-agent"))))
	settings := p.one("ConfigMap", "kube-system", "cilium-config")
	set := func(key, value string) { p.set(settings, value, "data", key) }
	p.hostPath(p.one("DaemonSet", "kube-system", "cilium"), host.SharedCNIDir, host.CNIDir)
	set("kube-proxy-replacement", "false")
	set("ipam", "kubernetes")
	set("ipv4-native-routing-cidr", k.PodSubnet)
	set("auto-direct-node-routes", strconv.FormatBool(c.Encapsulation == Native))
	if c.Encapsulation == Native {
		set("routing-mode", "native")
	} else {
		set("routing-mode", "tunnel")
		set("tunnel-protocol", "vxlan")
		set("tunnel-port", strconv.Itoa(c.Port))
	}
	if c.MTU > 0 {
		set("mtu", strconv.Itoa(c.MTU)) // the MTU between the nodes: Cilium subtracts VXLAN's headers itself
	}
	sum := checksum(settings.Object["data"])
	p.annotate(p.one("DaemonSet", "kube-system", "cilium"), "airgap.dev/configuration", sum)
	p.annotate(p.one("Deployment", "kube-system", "cilium-operator"), "airgap.dev/configuration", sum)
	return p.objects, p.err
}

// needs: the source for rp_filter is cilium/cilium: pkg/datapath/loader, base programs.
func (cilium) needs() Needs {
	return Needs{
		Kernel: "5.10", KernelFrom: map[string]int{"8": 10},
		KernelSource: "Cilium: system requirements (5.10, or 4.18 of RHEL 8.10 with its backports)",
		KernelFix:    "set network.plugin to calico or flannel, or use Enterprise Linux 8.10 or 9",
		Iptables:     true, StrictFails: true, ByLink: true,
	}
}

// traces returns the agent's interfaces, rules, state and BPF objects, and the files of its CNI plugin.
func (cilium) traces() Traces {
	return Traces{
		Links:  []string{"cilium_vxlan", "cilium_host", "cilium_net", "lxc*"},
		Chains: []string{"CILIUM_", "OLD_CILIUM_"},
		Paths: []string{
			"/run/cilium", "/sys/fs/bpf/cilium", "/sys/fs/bpf/tc/globals",
			// This file keeps the rp_filter that the agent sets on the pods' links; udev would set
			// the system's value (Cilium's chart: sysctlfix).
			"/etc/sysctl.d/99-zzz-override_cilium.conf",
			host.SharedCNIDir + "/05-cilium.conflist", "/opt/cni/bin/cilium-cni",
			"/var/lib/cni/cache", "/var/lib/cni/results",
		},
		Dirs: append([]string{"/sys/fs/bpf/tc"}, cniDirs()...),
	}
}

// ports returns the ports in Cilium's system requirements for the features that its chart enables. Each
// program also has a port for gops, a diagnosis tool, and does not start without it. The metrics ports
// are those of operator.prometheus and envoy.prometheus.
func (cilium) ports(c Config) []Port {
	return append(vxlanPort(c),
		Port{Number: 4240, Protocol: "tcp", Program: "cilium-health", Why: "health checks between nodes"},
		Port{Number: 9878, Protocol: "tcp", Program: "cilium-envoy health", Why: "health", Local: true},
		Port{Number: 9879, Protocol: "tcp", Program: "cilium-agent health", Why: "health", Local: true},
		Port{Number: 9234, Protocol: "tcp", Program: "cilium-operator", Why: "health", Local: true},
		Port{Number: 9890, Protocol: "tcp", Program: "cilium-agent gops", Why: "diagnosis", Local: true},
		Port{Number: 9891, Protocol: "tcp", Program: "cilium-operator gops", Why: "diagnosis", Local: true},
		Port{Number: 9963, Protocol: "tcp", Program: "cilium-operator metrics", Why: "metrics", Local: true},
		Port{Number: 9964, Protocol: "tcp", Program: "cilium-envoy metrics", Why: "metrics", Local: true},
	)
}

func (cilium) system(Config) (namespaces, workloads []string) {
	return nil, []string{"DaemonSet kube-system/cilium", "Deployment kube-system/cilium-operator"}
}

func (cilium) portmap() bool { return false }

func (cilium) forms() []Config { return []Config{{Plugin: Cilium}} }
