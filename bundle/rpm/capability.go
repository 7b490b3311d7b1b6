package rpm

import (
	"strings"

	"airgap.dev/airgap/internal/nevra"
)

// Capability is a name that packages provide, require, conflict with or
// obsolete, optionally with a range of versions.
type Capability struct {
	Name string `json:"name" yaml:"name"`
	// Flags is EQ, LT, LE, GT, GE, or "" for any version.
	Flags     string `json:"flags,omitempty" yaml:"flags,omitempty"`
	nevra.EVR `yaml:",inline"`
}

// String returns rpm's notation: "kubernetes-cni >= 1.2.0".
func (c Capability) String() string {
	if c.Flags == "" {
		return c.Name
	}
	return c.Name + " " + signOf(c.Flags) + " " + c.EVR.String()
}

// signOf returns the sign of flags: "EQ" is "=". It is "" for flags that rpm does not have.
func signOf(flags string) string {
	return map[string]string{"EQ": "=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}[flags]
}

// ParseCapability parses rpm's notation: "kubernetes-cni >= 1.2.0". A rich
// requirement, in parentheses, becomes one name.
func ParseCapability(s string) (Capability, error) {
	s = strings.TrimSpace(s)
	words := strings.Fields(s)
	if len(words) != 3 || signs()[words[1]] == "" || strings.HasPrefix(s, "(") {
		return Capability{Name: s}, nil
	}
	return CapabilityOf(words[0], words[1], words[2])
}

// CapabilityOf returns the capability of a name, and of a sign and a version, or "" for both.
func CapabilityOf(name, sign, version string) (Capability, error) {
	if sign == "" {
		return Capability{Name: name}, nil
	}
	evr, err := nevra.ParseEVR(version)
	return Capability{Name: name, Flags: signs()[sign], EVR: evr}, err
}

func signs() map[string]string {
	return map[string]string{"=": "EQ", "<": "LT", "<=": "LE", ">": "GT", ">=": "GE"}
}

// satisfies reports whether c satisfies the requirement. If one of them has no
// version, every version of the other matches, as in rpm's rpmdsCompare.
func (c Capability) satisfies(requirement Capability) bool {
	return c.Name == requirement.Name && (requirement.Flags == "" || c.Flags == "" || overlap(c, requirement))
}

// overlap reports whether the two ranges share a version.
func overlap(a, b Capability) bool {
	has := func(c Capability, sign byte) bool { return strings.IndexByte(c.Flags, sign) >= 0 }
	switch order := a.Compare(b.EVR); {
	case order < 0:
		return has(a, 'G') || has(b, 'L')
	case order > 0:
		return has(b, 'G') || has(a, 'L')
	default:
		return has(a, 'E') && has(b, 'E') || has(a, 'L') && has(b, 'L') || has(a, 'G') && has(b, 'G')
	}
}
