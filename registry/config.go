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

// Validate reports a port that does not exist or needs root.
func (c Config) Validate(at *field.Path) field.ErrorList {
	if c.Port < 1024 || c.Port > 65535 {
		return field.ErrorList{field.Invalid(at.Child("port"), c.Port, "want 1024 to 65535")}
	}
	return nil
}
