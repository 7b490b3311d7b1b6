package cni

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/reference"
)

// CiliumConfig is the section network.cilium of airgap.yaml.
type CiliumConfig struct {
	Version string `yaml:"version,omitempty" json:"version,omitempty" jsonschema:"default=1.20.3,example=1.20.3" jsonschema_description:"Exact version of Cilium and its Helm chart, 1.18 or later."`
	Source  string `yaml:"source,omitempty" json:"source,omitempty" jsonschema_description:"Source of the chart: a chart repository (https URL, or oci://HOST/PATH without the chart's name), or a directory or archive relative to airgap.yaml. Default: https://helm.cilium.io."`
}

const (
	firstCiliumMinor = 18 // of 1: before, values of the chart have other types
	ciliumVersion    = "1.20.3"
	ciliumCharts     = "https://helm.cilium.io"
)

// cilium brings NetworkPolicy, its own included. kube-proxy stays: what serves
// Services is one thing less that differs between plugins.
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
		problems = append(problems, field.Invalid(at.Child("cilium", "version"), c.Cilium.Version, "want an exact version from 1.18 on, such as "+ciliumVersion))
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

// ciliumValues are the chart's. The pods' networks are those that Kubernetes
// gives to nodes, out of kubernetes.podSubnet: a second allocator would disagree
// with the Node objects. Without Hubble the chart makes no keys, which would lie
// on the stick.
func ciliumValues(c Config, k Cluster) map[string]any {
	values := map[string]any{
		"kubeProxyReplacement":  false,
		"ipam":                  map[string]any{"mode": "kubernetes"},
		"ipv4NativeRoutingCIDR": k.PodSubnet, // within it addresses stay as they are
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

// objects says once more what the values said: Helm takes no notice of a value
// that a chart does not know, and what was chosen later has to get in here.
func (cilium) objects(c Config, k Cluster, fetched []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	p := &patched{objects: fetched}
	p.fail(checkCilium("the chart", reference.TagOf(p.imageOf("DaemonSet", "kube-system", "cilium", "cilium-agent"))))
	settings := p.one("ConfigMap", "kube-system", "cilium-config")
	set := func(key, value string) { p.set(settings, value, "data", key) }
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
		set("mtu", strconv.Itoa(c.MTU)) // of the network between the nodes: Cilium takes VXLAN's headers off itself
	}
	sum := checksum(settings.Object["data"])
	p.annotate(p.one("DaemonSet", "kube-system", "cilium"), "airgap.dev/configuration", sum)
	p.annotate(p.one("Deployment", "kube-system", "cilium-operator"), "airgap.dev/configuration", sum)
	return p.objects, p.err
}

// needs: cilium/cilium: pkg/datapath/loader, base programs, for rp_filter.
func (cilium) needs() Needs {
	return Needs{
		Kernel: "5.10", KernelFrom: map[string]int{"8": 10},
		KernelSource: "Cilium: system requirements (5.10, or 4.18 of RHEL 8.10, which has what it needs from newer ones)",
		KernelFix:    "set network.plugin to calico or flannel, or use Enterprise Linux 8.10 or 9",
		Iptables:     true, StrictFails: true, ByLink: true,
	}
}

// traces: the agent's interfaces, rules, state and BPF objects, and what its CNI
// plugin writes.
func (cilium) traces() Traces {
	return Traces{
		Links:  []string{"cilium_vxlan", "cilium_host", "cilium_net", "lxc*"},
		Chains: []string{"CILIUM_", "OLD_CILIUM_"},
		Paths: []string{
			"/run/cilium", "/sys/fs/bpf/cilium", "/sys/fs/bpf/tc/globals",
			// With it the pods' links keep the reverse path filter that the agent gives
			// them; udev would give them the system's (Cilium's chart: sysctlfix).
			"/etc/sysctl.d/99-zzz-override_cilium.conf",
			"/etc/cni/net.d/05-cilium.conflist", "/opt/cni/bin/cilium-cni",
			"/var/lib/cni/cache", "/var/lib/cni/results",
		},
		Dirs: append([]string{"/sys/fs/bpf/tc"}, cniDirs()...),
	}
}

// ports are those of Cilium's system requirements, for what its chart switches on. Each
// program has a second one for gops, which looks into running programs, and does not
// start without it; the metrics are those of operator.prometheus and envoy.prometheus.
func (cilium) ports(c Config) []Port {
	return append(vxlanPort(c),
		Port{Number: 4240, Protocol: "tcp", Program: "cilium-health", Why: "nodes ask each other how they are"},
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

func (cilium) forms() []Config { return []Config{{Plugin: Cilium}} }
