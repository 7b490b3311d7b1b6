package registry

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/registry/existing"
)

// DefaultPort is the registry's port if the configuration sets none.
const DefaultPort = 5000

// Config is the section registry of airgap.yaml.
type Config struct {
	Port int `yaml:"port" json:"port,omitempty" jsonschema:"description=TCP port of the registry on the control-plane hosts,default=5000"`
	// The registry on the control-plane hosts still runs: it serves packages and the files for joining hosts.
	Existing *existing.Registry `yaml:"existing" json:"existing,omitempty" jsonschema:"description=Registry of the site from which nodes pull images. airgap push fills it"`
}

// Default sets the defaults for missing fields.
func (c *Config) Default() {
	if c.Port == 0 {
		c.Port = DefaultPort
	}
}

// Validate reports a port that does not exist or needs root, and an unusable registry of the site.
func (c Config) Validate(at *field.Path) field.ErrorList {
	var all field.ErrorList
	if c.Port < 1024 || c.Port > 65535 {
		all = append(all, field.Invalid(at.Child("port"), c.Port, "want 1024 to 65535"))
	}
	if c.Existing != nil {
		if err := c.Existing.Check(); err != nil {
			all = append(all, field.Invalid(at.Child("existing"), c.Existing.Address, err.Error()))
		}
	}
	return all
}
