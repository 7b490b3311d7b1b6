// Package facts reads how a server is now, and how it will be after the next boot.
//
// Gather reads Facts through a host.Host, once, for the checks of package preflight and for the
// plan of a bundle. It records unreadable facts as unknown and guesses nothing. A survey is these
// facts as YAML, or the output of a script that reads the same data. The caller adds facts that are
// not in the host's files, such as the answer of dnf, as Facts.Asked.
package facts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"gopkg.in/yaml.v3"

	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/cryptopolicy"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/preflight/agents"
	"airgap.dev/airgap/preflight/unitfile"
)

// Schema is the version of the format of Facts. It increases when the meaning of a field
// changes, and not for new fields.
const Schema = 1

// Facts describes a server: HOST.facts.yaml. Sizes are in bytes. Nothing is guessed: Unknown
// lists the facts that could not be read.
type Facts struct {
	Schema  int       `yaml:"schema" json:"schema"`
	Host    string    `yaml:"host" json:"host"` // from the kernel
	Unknown []Unknown `yaml:"unknown,omitempty" json:"unknown,omitempty"`
	// Surveyed are the facts that the program or the script asked for, by the names of Unknown.Fact.
	// A survey of an older airgap does not have all. Empty in facts that no host was asked for.
	Surveyed []string `yaml:"surveyed,flow,omitempty" json:"surveyed,omitempty"`

	OS     OS     `yaml:"os" json:"os"`
	Kernel Kernel `yaml:"kernel" json:"kernel"`
	// KernelOptions has the options of the running kernel's configuration that checks use: "y"
	// or "m" by the name without CONFIG_.
	KernelOptions  map[string]string `yaml:"kernelOptions,omitempty" json:"kernelOptions,omitempty"`
	KernelFeatures KernelFeatures    `yaml:"kernelFeatures,omitempty" json:"kernelFeatures,omitzero"`
	SecureBoot     SecureBoot        `yaml:"secureBoot" json:"secureBoot"`
	Modules        map[string]Module `yaml:"modules" json:"modules"` // modules that a node may need
	Init           string            `yaml:"init" json:"init"`       // the name of process 1
	Systemd        int               `yaml:"systemd" json:"systemd"` // the version: 252
	Manager        Manager           `yaml:"manager" json:"manager"`
	Cgroup         Cgroup            `yaml:"cgroup" json:"cgroup"`
	CPUs           int               `yaml:"cpus" json:"cpus"`         // online
	CPULevel       int               `yaml:"cpuLevel" json:"cpuLevel"` // 3 for x86-64-v3; 0 for other processors
	Memory         int64             `yaml:"memory" json:"memory"`
	HugePages      HugePages         `yaml:"hugePages" json:"hugePages"`
	Swap           []SwapArea        `yaml:"swap,omitempty" json:"swap,omitempty"`
	Identity       Identity          `yaml:"identity" json:"identity"`
	Firmware       Firmware          `yaml:"firmware,omitempty" json:"firmware,omitzero"`
	Boot           Boot              `yaml:"boot" json:"boot"` // at the next boot
	Time           Time              `yaml:"time" json:"time"`

	Filesystems []Filesystem `yaml:"filesystems" json:"filesystems"`
	Directories []Directory  `yaml:"directories,omitempty" json:"directories,omitempty"`
	Multipath   Multipath    `yaml:"multipath" json:"multipath"`
	BootMounts  BootMounts   `yaml:"bootMounts" json:"bootMounts"`
	ProcMount   ProcMount    `yaml:"procMount" json:"procMount"`
	Targets     []Target     `yaml:"targets,omitempty" json:"targets,omitempty"` // of surveyed paths with links
	XFS         []XFS        `yaml:"xfs,omitempty" json:"xfs,omitempty"`
	DiskErrors  []DiskErrors `yaml:"diskErrors,omitempty" json:"diskErrors,omitempty"`

	Links        []Link           `yaml:"links" json:"links"`
	DHCP         []DHCP           `yaml:"dhcp,omitempty" json:"dhcp,omitempty"`
	Static       []StaticLink     `yaml:"static,omitempty" json:"static,omitempty"`
	Routes       []Route          `yaml:"routes,omitempty" json:"routes,omitempty"`
	Rules        []Rule           `yaml:"rules,omitempty" json:"rules,omitempty"`
	VRFs         []string         `yaml:"vrfs,flow,omitempty" json:"vrfs,omitempty"`
	Listening    []Listener       `yaml:"listening,omitempty" json:"listening,omitempty"`
	Resolv       Resolv           `yaml:"resolv" json:"resolv"`
	Hosts        []HostsEntry     `yaml:"hosts,omitempty" json:"hosts,omitempty"`
	Filtering    []Filtering      `yaml:"filtering,omitempty" json:"filtering,omitempty"`
	DropChains   []DropChain      `yaml:"dropChains,omitempty" json:"dropChains,omitempty"`
	PacketRules  PacketRules      `yaml:"packetRules" json:"packetRules"`
	Agents       agents.Agents    `yaml:"agents" json:"agents"`
	Iptables     Iptables         `yaml:"iptables" json:"iptables"`
	Proxies      []ProxySetting   `yaml:"proxies,omitempty" json:"proxies,omitempty"`
	Sysctls      []Sysctl         `yaml:"sysctls" json:"sysctls"`
	Tuned        Tuned            `yaml:"tuned" json:"tuned"`
	Security     Security         `yaml:"security" json:"security"`
	Audit        Audit            `yaml:"audit" json:"audit"`
	Umask        Umask            `yaml:"umask" json:"umask"`
	Accounts     []Account        `yaml:"accounts,omitempty" json:"accounts,omitempty"`       // root, and the user who has logged in
	OddAccounts  []string         `yaml:"oddAccounts,omitempty" json:"oddAccounts,omitempty"` // their lines with wrong dates
	FileScans    FileScans        `yaml:"fileScans" json:"fileScans"`
	Media        Media            `yaml:"media,omitempty" json:"media,omitzero"`
	USBBlocked   []SourceLine     `yaml:"usbBlocked,omitempty" json:"usbBlocked,omitempty"`
	Units        []Unit           `yaml:"units,omitempty" json:"units,omitempty"`         // the surveyed units that exist
	UnitFiles    []unitfile.File  `yaml:"unitFiles,omitempty" json:"unitFiles,omitempty"` // settings of systemd for the node's services, by unit
	Programs     Programs         `yaml:"programs" json:"programs"`
	Runtimes     Runtimes         `yaml:"runtimes" json:"runtimes"`
	Leftovers    []Leftover       `yaml:"leftovers,omitempty" json:"leftovers,omitempty"`
	Certificates []Certificate    `yaml:"certificates,omitempty" json:"certificates,omitempty"`
	PCI          []host.PCIDevice `yaml:"pci,omitempty" json:"pci,omitempty"`                     // NVIDIA devices
	Driver       string           `yaml:"nvidiaDriver,omitempty" json:"nvidiaDriver,omitempty"`   // first line of /proc/driver/nvidia/version
	NVML         *nvml.Report     `yaml:"nvml,omitempty" json:"nvml,omitempty"`                   // without serial numbers; nil if NVML was not asked or did not answer
	Xids         []nvml.Logged    `yaml:"nvidiaXids,omitempty" json:"nvidiaXids,omitempty"`       // the driver's errors in the last day
	Runfile      bool             `yaml:"nvidiaRunfile,omitempty" json:"nvidiaRunfile,omitempty"` // NVIDIA's installer (.run) has run
	Tools        []string         `yaml:"tools,flow,omitempty" json:"tools,omitempty"`            // the surveyed programs that exist
	Frozen       []Frozen         `yaml:"frozen,omitempty" json:"frozen,omitempty"`
	Packages     []Package        `yaml:"packages" json:"packages"`
	// OddPackages are the names of installed packages with data that cannot be used. Packages does not
	// have them.
	OddPackages []string `yaml:"oddPackages,omitempty" json:"oddPackages,omitempty"`
	// InstalledByAirgap are the packages that airgap has installed on the host.
	InstalledByAirgap []nevra.Text `yaml:"brought,omitempty" json:"brought,omitempty"`
	// Streams has the enabled dnf stream of each module; "" for a disabled module.
	Streams map[string]string `yaml:"streams,omitempty" json:"streams,omitempty"`
	// DNFVariables has the variables for addresses of repositories: contentdir, stream.
	DNFVariables map[string]string `yaml:"dnfVariables,omitempty" json:"dnfVariables,omitempty"`
	// Crypto has the lines of the crypto policy that decide on the signatures of packages.
	Crypto cryptopolicy.Surveyed `yaml:"crypto,omitempty" json:"crypto,omitzero"`

	Asked Asked `yaml:"-" json:"-"`
}

// Unknown is a fact that could not be read, and the cause.
type Unknown struct {
	Fact   string `yaml:"fact" json:"fact"`
	Reason string `yaml:"reason" json:"reason"`
}

// A file with facts has a first and a last line by which ReadFacts sees that a copy is truncated. A
// file without them is from an older airgap, or written by hand.
const (
	firstLine = "# The last line of this file is \"end: true\"."
	lastLine  = "end: true"
)

// Write writes the facts as YAML.
func (f *Facts) Write(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString(firstLine + "\n")
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := errors.Join(enc.Encode(f), enc.Close())
	b.WriteString(lastLine + "\n")
	if err == nil {
		_, err = b.WriteTo(w)
	}
	if err != nil {
		return fmt.Errorf("write facts of %s: %w", f.Host, err)
	}
	return nil
}

// ReadFacts reads the output of Write. Facts with a newer schema are an error; a truncated copy is
// ErrIncomplete.
func ReadFacts(r io.Reader) (*Facts, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSurvey))
	if err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	start := firstLine[:min(len(firstLine), len(text))]
	if bytes.HasPrefix(text, []byte(start)) && !bytes.HasSuffix(bytes.TrimSpace(text), []byte("\n"+lastLine)) {
		return nil, ErrIncomplete
	}
	var f Facts
	if err := yaml.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	if f.Schema < 1 || f.Schema > Schema {
		return nil, fmt.Errorf("read facts: unknown schema %d, this program reads 1 to %d: survey the host with this program", f.Schema, Schema)
	}
	if len(f.Surveyed) == 0 {
		f.Surveyed = firstSurveyed()
	}
	return &f, nil
}

// Why lists why the facts, by the names of Unknown.Fact, are unknown; none if all are known.
func (f *Facts) Why(needs ...string) []string {
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
	// Synchronized is the synchronization status in the kernel.
	Synchronized bool `yaml:"synchronized" json:"synchronized"`
	// Servers are the names and addresses in /etc/chrony.conf.
	Servers []string `yaml:"servers,omitempty" json:"servers,omitempty"`
	// Zone is the time zone, such as Asia/Seoul; "" if /etc/localtime is not a link.
	Zone string `yaml:"zone,omitempty" json:"zone,omitempty"`
}
