package registry

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DefaultPort is where the registry listens unless the configuration differs.
const DefaultPort = 5000

// Config is the section registry of airgap.yaml.
type Config struct {
	Port int `yaml:"port" json:"port,omitempty" jsonschema:"description=TCP port of the registry on its hosts,default=5000"`
}

// Default fills in what the file left out.
func (c *Config) Default() {
	if c.Port == 0 {
		c.Port = DefaultPort
	}
}

// Validate reports ports that do not exist, that need root, or that a
// control-plane host needs itself.
func (c Config) Validate(at *field.Path) field.ErrorList {
	at = at.Child("port")
	switch owner := kubernetesPort(c.Port); {
	case c.Port < 1024 || c.Port > 65535:
		return field.ErrorList{field.Invalid(at, c.Port, "want 1024 to 65535")}
	case owner != "":
		return field.ErrorList{field.Invalid(at, c.Port, "belongs to "+owner+" on the same host")}
	}
	return nil
}

func kubernetesPort(port int) string {
	switch port {
	case 6443:
		return "kube-apiserver"
	case 2379, 2380, 2381:
		return "etcd"
	case 10248, 10250:
		return "kubelet"
	case 10249, 10256:
		return "kube-proxy"
	case 10257:
		return "kube-controller-manager"
	case 10259:
		return "kube-scheduler"
	}
	return ""
}
