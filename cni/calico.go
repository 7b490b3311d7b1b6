package cni

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CalicoConfig is the section network.calico of airgap.yaml.
type CalicoConfig struct {
	Form      string `yaml:"form,omitempty" json:"form,omitempty" jsonschema:"enum=manifest,enum=operator,default=manifest" jsonschema_description:"Form of Calico: its manifest, which needs three images, or its operator with Typha and the Calico API."`
	Version   string `yaml:"version,omitempty" json:"version,omitempty" jsonschema:"default=v3.32.4,example=v3.32.4" jsonschema_description:"Exact version of Calico, 3.31 or later. If source is set and the form is manifest, the default is the version in that directory."`
	Source    string `yaml:"source,omitempty" json:"source,omitempty" jsonschema_description:"Directory with the manifests of this Calico version: https URL, or path relative to airgap.yaml. Default: the project's directory on GitHub."`
	BGP       bool   `yaml:"bgp,omitempty" json:"bgp,omitempty" jsonschema:"default=false" jsonschema_description:"Exchange of routes between nodes by BGP (TCP 179). VXLAN does not need it."`
	Dataplane string `yaml:"dataplane,omitempty" json:"dataplane,omitempty" jsonschema:"enum=auto,enum=iptables,enum=nftables,default=auto" jsonschema_description:"Packet filter for Calico's rules. auto uses the mode of kube-proxy, which Services require. iptables means iptables over nf_tables, as in Enterprise Linux."`
}

// What CalicoConfig knows.
const (
	ManifestForm = "manifest"
	OperatorForm = "operator"

	iptables = "iptables"
	nftables = "nftables"

	firstCalicoMinor = 31        // of 3: the first that knows nftables as kube-proxy does
	calicoVersion    = "v3.32.4" // Calico's requirements: tested with Kubernetes 1.34 to 1.36
	vxlanStandard    = 4789      // IANA's port, and Calico's default
	bgpPort          = 179
)

// calicoURL is where Calico's project has the manifests of its releases.
const calicoURL = "https://raw.githubusercontent.com/projectcalico/calico/%s/manifests"

// calico brings NetworkPolicy. Its project's default is IP-in-IP with BGP; here
// it is VXLAN without.
type calico struct{}

func (calico) name() string { return Calico }

func (calico) defaults(c *Config) {
	c.Port = cmp.Or(c.Port, vxlanStandard)
	c.Calico.Form = cmp.Or(c.Calico.Form, ManifestForm)
	if c.Calico.Source == "" { // else the directory says it
		c.Calico.Version = c.Calico.version()
	}
	c.Calico.Dataplane = cmp.Or(c.Calico.Dataplane, Auto)
}

func (calico) check(c Config, at *field.Path) field.ErrorList {
	problems := c.encapsulations(at, VXLAN, CrossSubnet, Native)
	own, section := at.Child("calico"), c.Calico
	if c.Encapsulation == Native && !section.BGP {
		problems = append(problems, field.Invalid(at.Child("encapsulation"), c.Encapsulation, "needs calico.bgp: true: without a tunnel only BGP brings the pods' routes to other nodes"))
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
		return field.ErrorList{field.Invalid(at, c.Version, "want an exact version from 3.31 on, such as "+calicoVersion)}
	}
	if lines := operatorLines(); c.Form == OperatorForm && !slices.Contains(lines, line(c.version())) {
		return field.ErrorList{field.Invalid(at, c.Version, "the operator's images are known for "+strings.Join(lines, ", ")+"; or choose form: manifest, which shows its own")}
	}
	return nil
}

// images are those that the operator runs; the manifest shows all.
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

// calicoDataplane is iptables or nftables. Rules of kube-proxy in one of them
// and Calico's in the other do not see each other's marks: Calico's documentation
// wants both in the same.
func calicoDataplane(c Config, k Cluster) (string, error) {
	follows := iptables
	if k.ProxyMode == nftables {
		follows = nftables
	}
	if want := c.Calico.Dataplane; want != Auto && want != follows {
		return "", fmt.Errorf("network.calico.dataplane is %s, but kube-proxy's mode is %s: set it to auto, or kubernetes.overrides.kubeProxy.mode to what goes with it", want, cmp.Or(k.ProxyMode, iptables))
	}
	return follows, nil
}

// felixSettings are those of the program that makes tunnels and rules on each
// node. In EL's iptables command nf_tables is behind it; left to itself Felix
// has taken the legacy one (projectcalico/calico#3709).
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

// traces: Felix's interfaces, rules and state, and what its CNI plugin writes.
func (calico) traces() Traces {
	return Traces{
		Links:  []string{"vxlan.calico", "cali*"},
		Tables: []string{"calico"},
		Chains: []string{"cali-"},
		Paths: []string{
			"/run/calico", "/var/lib/calico", "/run/nodeagent",
			"/etc/cni/net.d/10-calico.conflist", "/etc/cni/net.d/calico-kubeconfig",
			"/opt/cni/bin/calico", "/opt/cni/bin/calico-ipam",
			"/var/lib/cni/networks/k8s-pod-network", "/var/lib/cni/cache", "/var/lib/cni/results",
		},
		Dirs: cniDirs(),
		Data: []string{"/var/log/calico"},
	}
}

// needs: Felix, its program on each node, ends where all links are loose, because pods could then
// take others' addresses (projectcalico/calico: felix, IgnoreLooseRPF).
func (calico) needs() Needs { return Needs{LooseForAllFails: true, ByLink: true, FilterAlone: true} }

// ports are those of Calico's system requirements.
func (calico) ports(c Config) []Port {
	ports := vxlanPort(c)
	if c.Calico.BGP {
		ports = append(ports, Port{Number: bgpPort, Protocol: "tcp", Program: "BIRD", Why: "nodes tell each other the pods' routes (BGP)"})
	}
	if c.Calico.Form == OperatorForm {
		ports = append(ports,
			Port{Number: 5473, Protocol: "tcp", Program: "Typha", Why: "what Calico knows reaches every node through a few"},
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

func (calico) forms() []Config {
	var all []Config
	for _, form := range calicoForms() {
		all = append(all, Config{Plugin: Calico, Calico: CalicoConfig{Form: form}})
	}
	return all
}
