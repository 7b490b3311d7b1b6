package preflight

import (
	"fmt"
	"io"
	"time"

	"gopkg.in/yaml.v3"

	"airgap.dev/airgap/internal/host"
)

// Schema is the version of the form of Facts. It grows when a field changes
// its meaning; new fields do not need it.
const Schema = 1

// Facts is what a server told about itself: HOST.facts.yaml. Sizes are bytes.
// Nothing in it is guessed; what could not be read is listed under Unknown.
type Facts struct {
	Schema  int       `yaml:"schema" json:"schema"`
	Host    string    `yaml:"host" json:"host"` // the kernel's host name
	Unknown []Unknown `yaml:"unknown,omitempty" json:"unknown,omitempty"`

	OS       OS                `yaml:"os" json:"os"`
	Kernel   Kernel            `yaml:"kernel" json:"kernel"`
	Modules  map[string]Module `yaml:"modules" json:"modules"` // those a node may need
	Init     string            `yaml:"init" json:"init"`       // name of process 1
	Cgroup   Cgroup            `yaml:"cgroup" json:"cgroup"`
	CPUs     int               `yaml:"cpus" json:"cpus"` // online
	Memory   int64             `yaml:"memory" json:"memory"`
	Swap     []SwapArea        `yaml:"swap,omitempty" json:"swap,omitempty"`
	Identity Identity          `yaml:"identity" json:"identity"`
	Time     Time              `yaml:"time" json:"time"`

	Filesystems []Filesystem `yaml:"filesystems" json:"filesystems"`

	Links     []Link           `yaml:"links" json:"links"`
	Routes    []Route          `yaml:"routes,omitempty" json:"routes,omitempty"`
	Listening []Listener       `yaml:"listening,omitempty" json:"listening,omitempty"`
	Resolv    Resolv           `yaml:"resolv" json:"resolv"`
	Hosts     []HostsEntry     `yaml:"hosts,omitempty" json:"hosts,omitempty"`
	Sysctls   []Sysctl         `yaml:"sysctls" json:"sysctls"`
	Security  Security         `yaml:"security" json:"security"`
	Units     []Unit           `yaml:"units,omitempty" json:"units,omitempty"` // of those looked for, the ones that exist
	Runtimes  Runtimes         `yaml:"runtimes" json:"runtimes"`
	Leftovers []Leftover       `yaml:"leftovers,omitempty" json:"leftovers,omitempty"`
	PCI       []host.PCIDevice `yaml:"pci,omitempty" json:"pci,omitempty"`                   // of NVIDIA
	Driver    string           `yaml:"nvidiaDriver,omitempty" json:"nvidiaDriver,omitempty"` // what a loaded one says of itself
	Packages  []Package        `yaml:"packages" json:"packages"`
	// Streams are what dnf was told about module streams: by module the stream
	// that is enabled, "" where the module is disabled.
	Streams map[string]string `yaml:"streams,omitempty" json:"streams,omitempty"`
}

// Unknown is a fact that could not be read, and why.
type Unknown struct {
	Fact   string `yaml:"fact" json:"fact"`
	Reason string `yaml:"reason" json:"reason"`
}

// Write writes the facts as YAML.
func (f *Facts) Write(w io.Writer) error {
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(f); err != nil {
		return fmt.Errorf("write facts of %s: %w", f.Host, err)
	}
	return enc.Close()
}

// ReadFacts reads what Write wrote. Facts of a newer schema are an error.
func ReadFacts(r io.Reader) (*Facts, error) {
	var f Facts
	if err := yaml.NewDecoder(r).Decode(&f); err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	if f.Schema < 1 || f.Schema > Schema {
		return nil, fmt.Errorf("read facts: schema %d, this program knows 1 to %d: survey the host with this program", f.Schema, Schema)
	}
	return &f, nil
}

// why lists the reasons for which one of the facts is unknown.
func (f *Facts) why(needs []string) []string {
	var reasons []string
	for _, need := range needs {
		for _, u := range f.Unknown {
			if u.Fact == need {
				reasons = append(reasons, u.Reason)
			}
		}
	}
	return reasons
}

// Time is the host's clock.
type Time struct {
	Now time.Time `yaml:"now" json:"now"`
	// Synchronized is the kernel's own opinion of its clock.
	Synchronized bool `yaml:"synchronized" json:"synchronized"`
}
