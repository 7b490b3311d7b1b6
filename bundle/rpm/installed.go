package rpm

import (
	"airgap.dev/airgap/internal/cryptopolicy"
	"airgap.dev/airgap/internal/nevra"
)

// Installed has the contents of a server's rpm database. It is a part of the facts.
type Installed struct {
	Host     string             `json:"host,omitempty" yaml:"host,omitempty"` // for reports
	Packages []InstalledPackage `json:"packages" yaml:"packages"`
	// Streams has the enabled module streams, by module; "" if a module is disabled.
	Streams map[string]string `json:"streams,omitempty" yaml:"streams,omitempty"`
	// Policy decides which signatures its rpm accepts. The zero value is the default policy of Request.OS.
	Policy cryptopolicy.Policy `json:"-" yaml:"-"`
}

// InstalledPackage is one installed package.
type InstalledPackage struct {
	nevra.NEVRA `yaml:",inline"`
	Provides    []Capability `json:"provides,omitempty" yaml:"provides,omitempty"`
	Requires    []Capability `json:"requires,omitempty" yaml:"requires,omitempty"`
	Conflicts   []Capability `json:"conflicts,omitempty" yaml:"conflicts,omitempty"`
	Obsoletes   []Capability `json:"obsoletes,omitempty" yaml:"obsoletes,omitempty"`
}
