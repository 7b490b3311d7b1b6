package cni

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What Config knows. Auto takes VXLAN: it is the one encapsulation that asks
// nothing of the network but a UDP port.
const (
	Flannel = "flannel"
	Auto    = "auto"
	VXLAN   = "vxlan"
)

// Config is the section network of airgap.yaml.
type Config struct {
	Plugin        string `yaml:"plugin" json:"plugin" jsonschema:"enum=flannel,default=flannel" jsonschema_description:"Which program connects the pods of different nodes."`
	Encapsulation string `yaml:"encapsulation" json:"encapsulation" jsonschema:"enum=auto,enum=vxlan,default=auto" jsonschema_description:"How packets between pods travel between nodes. IP-in-IP is never used."`
	Port          int    `yaml:"port" json:"port" jsonschema:"minimum=1,maximum=65535,default=8472" jsonschema_description:"UDP port of VXLAN between nodes. On vSphere 8472 without NSX and 4789 with it; other ports are dropped by ESXi 8.0U2."`
	MTU           int    `yaml:"mtu" json:"mtu" jsonschema_description:"Largest packet in bytes the network between the nodes carries; VXLAN's 50 bytes are taken off it. 0 takes the interface's own."`
}

const (
	defaultPort = 8472
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
	if c.Port == 0 {
		c.Port = defaultPort
	}
}

// Validate reports every problem of a defaulted section, with its path.
func (c Config) Validate(at *field.Path) field.ErrorList {
	var problems field.ErrorList
	if c.Plugin != Flannel {
		problems = append(problems, field.NotSupported(at.Child("plugin"), c.Plugin, []string{Flannel}))
	}
	if c.Encapsulation != Auto && c.Encapsulation != VXLAN {
		problems = append(problems, field.NotSupported(at.Child("encapsulation"), c.Encapsulation, []string{Auto, VXLAN}))
	}
	if c.Port < 1 || c.Port > 65535 {
		problems = append(problems, field.Invalid(at.Child("port"), c.Port, "must be a UDP port, 1 to 65535"))
	}
	if c.MTU != 0 && (c.MTU < smallestMTU || c.MTU > largestMTU) {
		problems = append(problems, field.Invalid(at.Child("mtu"), c.MTU, "must be 0 (take the interface's) or 1280 to 65535 bytes"))
	}
	return problems
}
