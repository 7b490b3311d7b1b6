package cni

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What Config knows. Auto takes VXLAN: it is the one encapsulation that asks
// nothing of the network but a UDP port.
const (
	Flannel = "flannel"

	Auto  = "auto"
	VXLAN = "vxlan"
)

// Config is the section network of airgap.yaml.
type Config struct {
	Plugin        string `yaml:"plugin" json:"plugin" jsonschema:"enum=flannel,default=flannel" jsonschema_description:"Which program connects the pods of different nodes."`
	Encapsulation string `yaml:"encapsulation" json:"encapsulation" jsonschema:"enum=auto,enum=vxlan,default=auto" jsonschema_description:"How packets between pods travel between nodes. IP-in-IP is never used."`
	Port          int    `yaml:"port" json:"port" jsonschema:"minimum=1,maximum=65535,default=8472" jsonschema_description:"UDP port of VXLAN between nodes. On vSphere 8472 without NSX and 4789 with it; other ports are dropped by ESXi 8.0U2."`
	MTU           int    `yaml:"mtu" json:"mtu" jsonschema_description:"Largest packet in bytes the network between the nodes carries; VXLAN's 50 bytes are taken off it. 0 takes the interface's own."`
}

const (
	linuxPort   = 8472 // that Linux took before there was a standard; flannel's and Cilium's
	smallestMTU = 1280 // below it IPv4 works on, but nothing a bank runs does
	largestMTU  = 65535
)

// Default fills what was left out.
func (c *Config) Default() {
	if c.Plugin == "" {
		c.Plugin = Flannel
	}
	if c.Encapsulation == "" {
		c.Encapsulation = Auto
	}
	c.plugin().defaults(c)
}

// Validate reports every problem of a defaulted section, with its path.
func (c Config) Validate(at *field.Path) field.ErrorList {
	var problems field.ErrorList
	if !slices.Contains(pluginNames(), c.Plugin) {
		problems = append(problems, field.NotSupported(at.Child("plugin"), c.Plugin, pluginNames()))
	}
	problems = append(problems, c.plugin().check(c, at)...)
	if c.Port < 1 || c.Port > 65535 {
		problems = append(problems, field.Invalid(at.Child("port"), c.Port, "must be a UDP port, 1 to 65535"))
	}
	if c.MTU != 0 && (c.MTU < smallestMTU || c.MTU > largestMTU) {
		problems = append(problems, field.Invalid(at.Child("mtu"), c.MTU, "must be 0 (take the interface's) or 1280 to 65535 bytes"))
	}
	return problems
}

// encapsulations reports one that a plugin does not know.
func (c Config) encapsulations(at *field.Path, known ...string) field.ErrorList {
	known = append([]string{Auto}, known...)
	if slices.Contains(known, c.Encapsulation) {
		return nil
	}
	return field.ErrorList{field.NotSupported(at.Child("encapsulation"), c.Encapsulation, known)}
}

// settled is the configuration with nothing left to decide. Who measures the
// network between the nodes hands in a Config with what was found.
func (c Config) settled() Config {
	if c.Encapsulation == Auto {
		c.Encapsulation = VXLAN
	}
	return c
}

// VXLANPort is the UDP port of the tunnels between nodes; 0 where there are
// none.
func (c Config) VXLANPort() int { return c.Port }

// title is the network in words: "flannel, VXLAN".
func (c Config) title() string { return c.Plugin + ", VXLAN" }
