package cni

import (
	"cmp"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Values of Config. Auto selects VXLAN unless a measurement has another result: VXLAN needs only a UDP
// port between the nodes.
const (
	Flannel = "flannel"
	Calico  = "calico"
	Cilium  = "cilium"

	Auto        = "auto"
	VXLAN       = "vxlan"
	CrossSubnet = "crosssubnet" // VXLAN between subnets, none within one
	Native      = "native"      // none: the network between the nodes must route the addresses of pods

	Never = "never" // of HostPortTest
)

// Config is the section network of airgap.yaml.
type Config struct {
	Plugin        string `yaml:"plugin" json:"plugin" jsonschema:"enum=flannel,enum=calico,enum=cilium,default=flannel" jsonschema_description:"Network plugin that connects pods on different nodes. flannel has the fewest images and does not support NetworkPolicy."`
	Encapsulation string `yaml:"encapsulation" json:"encapsulation" jsonschema:"enum=auto,enum=vxlan,enum=crosssubnet,enum=native,default=auto" jsonschema_description:"Encapsulation of pod packets between nodes. vxlan: VXLAN. crosssubnet: VXLAN between subnets only (calico). native: no encapsulation (calico with bgp; flannel and cilium if all nodes are in one layer-2 network). auto: chosen from the measurement between the servers. It is VXLAN, on another port than network.port if only that port passes, and native only if no tunnel passes. airgap install measures through SSH. Without SSH, run airgap netprobe listen first; it stores its choice on the first server. Without a measurement, auto is VXLAN on network.port. airgap never uses IP-in-IP."`
	Port          int    `yaml:"port" json:"port" jsonschema:"minimum=1,maximum=65535" jsonschema_description:"UDP port of VXLAN between nodes. With encapsulation auto it is the first port to try. Default: 8472, and 4789 for calico. On vSphere use 8472 without NSX and 4789 with NSX: ESXi 8.0U2 drops other ports."`
	MTU           int    `yaml:"mtu" json:"mtu" jsonschema_description:"MTU of the network between the nodes, in bytes. airgap subtracts 50 bytes for VXLAN. 0 means the MTU of the interface."`
	// SiteRanges are networks that no node has a route to except the default one.
	SiteRanges []string `yaml:"siteRanges,omitempty" json:"siteRanges,omitempty" jsonschema_description:"Networks of the site behind the default gateway that nodes or pods connect to, as CIDR such as 10.20.0.0/16: branches, data centers, Harbor. They must not overlap kubernetes.podSubnet and serviceSubnet."`

	HostPortTest string `yaml:"hostPortTest,omitempty" json:"hostPortTest,omitempty" jsonschema:"enum=auto,enum=never,default=auto" jsonschema_description:"Test of hostPort by airgap's pods, at TCP port 10479 of each node. auto: with flannel or calico, if kube-proxy's mode is iptables (Enterprise Linux 8 and 9). never: for nodes where a policy forbids host ports, or where another program uses the port."`

	Calico CalicoConfig `yaml:"calico,omitempty" json:"calico,omitzero" jsonschema_description:"Settings for calico only."`
	Cilium CiliumConfig `yaml:"cilium,omitempty" json:"cilium,omitzero" jsonschema_description:"Settings for cilium only."`
}

const (
	linuxPort   = 8472 // Linux' port before the standard; default of flannel and Cilium
	smallestMTU = 1280 // IPv4 works with less, but many applications do not
	largestMTU  = 65535
)

// Default fills empty fields.
func (c *Config) Default() {
	if c.Plugin == "" {
		c.Plugin = Flannel
	}
	if c.Encapsulation == "" {
		c.Encapsulation = Auto
	}
	c.HostPortTest = cmp.Or(c.HostPortTest, Auto)
	c.plugin().defaults(c)
}

// Validate returns an error with its path for every invalid value. Call Default first.
func (c Config) Validate(at *field.Path) field.ErrorList {
	var problems field.ErrorList
	if !slices.Contains(pluginNames(), c.Plugin) {
		problems = append(problems, field.NotSupported(at.Child("plugin"), c.Plugin, pluginNames()))
	}
	if known := []string{"", Auto, Never}; !slices.Contains(known, c.HostPortTest) {
		problems = append(problems, field.NotSupported(at.Child("hostPortTest"), c.HostPortTest, known[1:]))
	}
	problems = append(problems, c.plugin().check(c, at)...)
	if c.Plugin != Calico && c.Calico != (CalicoConfig{}) {
		problems = append(problems, c.unread(at.Child("calico")))
	}
	if c.Plugin != Cilium && c.Cilium != (CiliumConfig{}) {
		problems = append(problems, c.unread(at.Child("cilium")))
	}
	if c.Port < 1 || c.Port > 65535 {
		problems = append(problems, field.Invalid(at.Child("port"), c.Port, "must be a UDP port, 1 to 65535"))
	}
	for i, text := range c.SiteRanges {
		if p, err := netip.ParsePrefix(text); err != nil || p != p.Masked() || p.Bits() == 0 {
			problems = append(problems, field.Invalid(at.Child("siteRanges").Index(i), text, "must be the CIDR of a network, such as 10.20.0.0/16"))
		}
	}
	if c.MTU != 0 && (c.MTU < smallestMTU || c.MTU > largestMTU) {
		problems = append(problems, field.Invalid(at.Child("mtu"), c.MTU, "must be 0 (the interface's MTU) or 1280 to 65535 bytes"))
	}
	return problems
}

func (c Config) unread(section *field.Path) *field.Error {
	return field.Forbidden(section, "the plugin is "+c.Plugin+": it does not use this section")
}

// encapsulations returns an error for an encapsulation that the plugin does not support.
func (c Config) encapsulations(at *field.Path, known ...string) field.ErrorList {
	known = append([]string{Auto}, known...)
	if slices.Contains(known, c.Encapsulation) {
		return nil
	}
	return field.ErrorList{field.NotSupported(at.Child("encapsulation"), c.Encapsulation, known)}
}

// settled returns the configuration without Auto. After a measurement the caller passes a Config with
// its result.
func (c Config) settled() Config {
	if c.Encapsulation == Auto {
		c.Encapsulation = VXLAN
	}
	return c
}

// VXLANPort returns the UDP port of the tunnels between nodes; 0 without tunnels.
func (c Config) VXLANPort() int {
	if c.Encapsulation == Native {
		return 0
	}
	return c.Port
}

// TestsHostPort reports whether a pod can test its own hostPort: the CNI plugin portmap of flannel and
// Calico redirects the port. Cilium does so only in place of kube-proxy. In kube-proxy's mode nftables,
// a node may lack the kernel modules of portmap's iptables rules, and then such a pod does not start.
func (c Config) TestsHostPort(proxyMode string) bool {
	return c.HostPortTest != Never && c.plugin().portmap() && proxyMode != nftables
}

// Routes reports whether the plugin supports Native with this configuration if all nodes are in one
// layer-2 network.
func (c Config) Routes() bool {
	c.Encapsulation = Native
	return len(c.plugin().check(c, nil)) == 0
}

// title describes the network: "flannel, VXLAN".
func (c Config) title() string {
	switch c.Encapsulation {
	case CrossSubnet:
		return c.Plugin + ", VXLAN between subnets"
	case Native:
		return c.Plugin + ", no encapsulation"
	default:
		return c.Plugin + ", VXLAN"
	}
}

// vxlanHeaders is the size of the headers that VXLAN adds to a packet, in bytes: Ethernet, IPv4, UDP and
// VXLAN (RFC 7348).
const vxlanHeaders = 50

// podMTU returns the MTU of pods in bytes; 0 means the default of the plugin.
func (c Config) podMTU() int {
	if c.MTU == 0 || c.Encapsulation == Native {
		return c.MTU
	}
	return c.MTU - vxlanHeaders
}
