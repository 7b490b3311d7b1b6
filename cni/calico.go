package cni

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/host"
)

// CalicoConfig is the section network.calico of airgap.yaml.
type CalicoConfig struct {
	Form      string `yaml:"form,omitempty" json:"form,omitempty" jsonschema:"enum=manifest,enum=operator,default=manifest" jsonschema_description:"Form of Calico: its manifest, which needs three images, or its operator with Typha and the Calico API."`
	Version   string `yaml:"version,omitempty" json:"version,omitempty" jsonschema:"default=v3.32.4,example=v3.32.4" jsonschema_description:"Exact version of Calico, 3.31 or later. If source is set and the form is manifest, the default is the version in that directory."`
	Source    string `yaml:"source,omitempty" json:"source,omitempty" jsonschema_description:"Directory with the manifests of this Calico version: https URL, or path relative to airgap.yaml. Default: the project's directory on GitHub."`
	BGP       bool   `yaml:"bgp,omitempty" json:"bgp,omitempty" jsonschema:"default=false" jsonschema_description:"Exchange of routes between nodes by BGP (TCP 179). VXLAN does not need it."`
	Dataplane string `yaml:"dataplane,omitempty" json:"dataplane,omitempty" jsonschema:"enum=auto,enum=iptables,enum=nftables,default=auto" jsonschema_description:"Packet filter for Calico's rules. auto uses the mode of kube-proxy, which Services require. iptables means iptables over nf_tables, as in Enterprise Linux."`
}

// Values of CalicoConfig.
const (
	ManifestForm = "manifest"
	OperatorForm = "operator"

	iptables = "iptables"
	nftables = "nftables"

	firstCalicoMinor = 31        // of 3: the first that supports nftables like kube-proxy
	calicoVersion    = "v3.32.4" // according to Calico's requirements tested with Kubernetes 1.34 to 1.36
	vxlanStandard    = 4789      // IANA's port, and Calico's default
	bgpPort          = 179
)

// calicoURL is the directory with the manifests of a Calico release.
const calicoURL = "https://raw.githubusercontent.com/projectcalico/calico/%s/manifests"

// calico supports NetworkPolicy. The project's default is IP-in-IP with BGP; airgap's is VXLAN without
// BGP.
type calico struct{}

func (calico) name() string { return Calico }

func (calico) defaults(c *Config) {
	c.Port = cmp.Or(c.Port, vxlanStandard)
	c.Calico.Form = cmp.Or(c.Calico.Form, ManifestForm)
	if c.Calico.Source == "" { // otherwise the directory determines the version
		c.Calico.Version = c.Calico.version()
	}
	c.Calico.Dataplane = cmp.Or(c.Calico.Dataplane, Auto)
}

func (calico) check(c Config, at *field.Path) field.ErrorList {
	problems := c.encapsulations(at, VXLAN, CrossSubnet, Native)
	own, section := at.Child("calico"), c.Calico
	if c.Encapsulation == Native && !section.BGP {
		problems = append(problems, field.Invalid(at.Child("encapsulation"), c.Encapsulation, "needs calico.bgp: true: without a tunnel only BGP distributes the routes of pods"))
	}
	if !slices.Contains(calicoForms(), section.Form) {
		problems = append(problems, field.NotSupported(own.Child("form"), section.Form, calicoForms()))
	}
	if known := []string{Auto, iptables, nftables}; !slices.Contains(known, section.Dataplane) {
		problems = append(problems, field.NotSupported(own.Child("dataplane"), section.Dataplane, known))
	}
	problems = append(problems, checkSource(own.Child("source"), section.Source)...)
	return append(problems, checkCalicoVersion(own.Child("version"), section)...)
}

func calicoForms() []string { return []string{ManifestForm, OperatorForm} }

func checkCalicoVersion(at *field.Path, c CalicoConfig) field.ErrorList {
	var major, minor int
	if _, err := fmt.Sscanf(line(c.version()), "%d.%d", &major, &minor); err != nil || major != 3 || minor < firstCalicoMinor {
		return field.ErrorList{field.Invalid(at, c.Version, "expected an exact version from 3.31 on, such as "+calicoVersion)}
	}
	if lines := operatorLines(); c.Form == OperatorForm && !slices.Contains(lines, line(c.version())) {
		return field.ErrorList{field.Invalid(at, c.Version, "airgap knows the operator's images only for "+strings.Join(lines, ", ")+"; choose one of these, or form: manifest")}
	}
	return nil
}

// images returns the images that the operator runs. The manifest contains all its images.
func (calico) images(c Config) (nodes, others []string) {
	if c.Calico.Form == OperatorForm {
		of := calicoLines()[line(c.Calico.version())]
		return calicoReferences(of.nodes, c.Calico.version()), calicoReferences(of.others, c.Calico.version())
	}
	return nil, nil
}

func (calico) upstream(c Config, _ Cluster) Upstream {
	dir := cmp.Or(c.Calico.Source, fmt.Sprintf(calicoURL, "v"+trimV(c.Calico.version())))
	if c.Calico.Form == OperatorForm {
		definitions := calicoLines()[line(c.Calico.version())].definitions
		return Upstream{Namespace: "tigera-operator", Manifests: []string{below(dir, definitions), below(dir, "tigera-operator.yaml")}}
	}
	return Upstream{Namespace: "kube-system", Manifests: []string{below(dir, "calico.yaml")}}
}

func (calico) objects(c Config, k Cluster, fetched []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	plane, err := calicoDataplane(c, k)
	if err != nil {
		return nil, err
	}
	p := &patched{objects: fetched}
	if c.Calico.Form == OperatorForm {
		calicoOperator(p, c, k, plane)
	} else {
		calicoManifest(p, c, k, plane)
	}
	return p.objects, p.err
}

// calicoDataplane returns iptables or nftables. Calico's documentation requires that Calico and
// kube-proxy use the same one, because rules in one do not see the marks of the other.
func calicoDataplane(c Config, k Cluster) (string, error) {
	follows := iptables
	if k.ProxyMode == nftables {
		follows = nftables
	}
	if want := c.Calico.Dataplane; want != Auto && want != follows {
		return "", fmt.Errorf("network.calico.dataplane is %s, but kube-proxy's mode is %s: set it to auto, or set kubernetes.overrides.kubeProxy.mode to the same", want, cmp.Or(k.ProxyMode, iptables))
	}
	return follows, nil
}

// felixSettings returns the settings of Felix, the program that creates tunnels and rules on each node.
// EL's iptables command uses nf_tables, but by default Felix has chosen the legacy backend
// (projectcalico/calico#3709).
func felixSettings(c Config, plane string) map[string]any {
	settings := map[string]any{}
	if c.VXLANPort() > 0 {
		settings["vxlanPort"] = int64(c.Port)
	}
	if plane == nftables {
		settings["nftablesMode"] = "Enabled"
	} else {
		settings["iptablesBackend"] = "NFT"
		settings["nftablesMode"] = "Disabled"
	}
	return settings
}

// traces returns Felix's interfaces, rules and state, and the files of its CNI plugin.
func (calico) traces() Traces {
	return Traces{
		Links:  []string{"vxlan.calico", "cali*"},
		Tables: []string{"calico", "cni_hostport"},
		Chains: []string{"cali-", "CNI-HOSTPORT-", "CNI-DN-"}, // those of the plugin portmap, too
		Paths: []string{
			"/run/calico", "/var/lib/calico", "/run/nodeagent",
			host.SharedCNIDir + "/10-calico.conflist", host.SharedCNIDir + "/calico-kubeconfig",
			"/opt/cni/bin/calico", "/opt/cni/bin/calico-ipam",
			"/var/lib/cni/networks/k8s-pod-network", "/var/lib/cni/cache", "/var/lib/cni/results",
		},
		Dirs: cniDirs(),
		Data: []string{"/var/log/calico"},
	}
}

// needs: Felix exits if rp_filter is loose for all links, because pods could then use addresses of other
// pods (projectcalico/calico: felix, IgnoreLooseRPF).
func (calico) needs() Needs {
	return Needs{LooseForAllFails: true, ByLink: true, FilterAlone: true, IPSets: true, Localhost: true}
}

// ports returns the ports in Calico's system requirements.
func (calico) ports(c Config) []Port {
	ports := vxlanPort(c)
	if c.Calico.BGP {
		ports = append(ports, Port{Number: bgpPort, Protocol: "tcp", Program: "BIRD", Why: "exchange of pod routes between nodes (BGP)"})
	}
	if c.Calico.Form == OperatorForm {
		ports = append(ports,
			Port{Number: 5473, Protocol: "tcp", Program: "Typha", Why: "distribution of Calico's configuration to all nodes"},
			Port{Number: 9098, Protocol: "tcp", Program: "Typha health", Why: "health", Local: true})
	}
	return append(ports, Port{Number: 9099, Protocol: "tcp", Program: "Felix", Why: "health", Local: true})
}

func (calico) system(c Config) (namespaces, workloads []string) {
	if c.Calico.Form == OperatorForm {
		return []string{"tigera-operator", "calico-system"}, []string{
			"Deployment tigera-operator/tigera-operator", "DaemonSet calico-system/calico-node",
			"Deployment calico-system/calico-typha", "Deployment calico-system/calico-kube-controllers",
		}
	}
	return nil, []string{"DaemonSet kube-system/calico-node", "Deployment kube-system/calico-kube-controllers"}
}

func (calico) portmap() bool { return true }

func (calico) forms() []Config {
	var all []Config
	for _, form := range calicoForms() {
		all = append(all, Config{Plugin: Calico, Calico: CalicoConfig{Form: form}})
	}
	return all
}
