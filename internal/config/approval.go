package config

// MaxApprovals is the largest number of keys that a bundle may need.
const MaxApprovals = 9

// Approval says who must have signed a bundle. The servers record it at the first
// installation, so a later bundle cannot lower it.
type Approval struct {
	Keys int `yaml:"keys" json:"keys,omitempty" jsonschema:"minimum=1,maximum=9,example=2" jsonschema_description:"Number of different trusted keys that must have signed a bundle: 2 for the two-person rule. The second person signs with airgap sign. The servers record the number at the installation, and a later bundle cannot lower it. Default: one."`
}
