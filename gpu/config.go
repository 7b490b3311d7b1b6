package gpu

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Source is the source of a driver.
type Source string

const (
	DKMS        Source = "dkms"        // RPMs; each host builds the module for its kernels
	Precompiled Source = "precompiled" // RPMs with modules for one kernel; needs no compiler
	Runfile     Source = "runfile"     // NVIDIA's installer
	Site        Source = "host"        // the site installs the driver
)

// Config is the section gpu of airgap.yaml. It applies to nodes with the role gpu.
type Config struct {
	Source       Source    `yaml:"source,omitempty" json:"source,omitempty" jsonschema:"enum=dkms,enum=precompiled,enum=runfile,enum=host,default=dkms" jsonschema_description:"Source of the driver. dkms: RPMs from NVIDIA's repository, which packages.repositories must contain; each host builds the module for the running kernel and the kernel of the next boot. precompiled: RPMs with modules for these kernels, without a compiler. runfile: NVIDIA's installer. host: the site installs the driver."`
	Branch       int       `yaml:"branch,omitempty" json:"branch,omitempty" jsonschema_description:"Driver branch. Default: the branch with the longest support that supports all GPUs of a host."`
	Flavour      Flavour   `yaml:"flavour,omitempty" json:"flavour,omitempty" jsonschema:"enum=open,enum=proprietary" jsonschema_description:"NVIDIA kernel module. Default: open if it supports all GPUs of a host, otherwise proprietary."`
	Installer    Download  `yaml:"installer,omitempty" json:"installer,omitzero" jsonschema_description:"For source runfile: download of NVIDIA's installer."`
	DevicePlugin string    `yaml:"devicePlugin,omitempty" json:"devicePlugin,omitempty" jsonschema_description:"Version of NVIDIA's Kubernetes device plugin. Default: 0.19.2."`
	TimeSlices   int       `yaml:"timeSlices,omitempty" json:"timeSlices,omitempty" jsonschema:"minimum=0" jsonschema_description:"Number of pods that share one GPU by time slicing, without a memory limit for each. 0: one pod per GPU."`
	MIG          MIGConfig `yaml:"mig,omitempty" json:"mig,omitzero" jsonschema_description:"Division of GPUs into instances (Multi-Instance GPU). All GPUs of a host get the same division. If one GPU does not support it, airgap builds no bundle."`
}

// Download is a file that the build of the bundle downloads.
type Download struct {
	URL    string `yaml:"url" json:"url" jsonschema:"required" jsonschema_description:"https URL of NVIDIA-Linux-x86_64-VERSION.run."`
	SHA256 string `yaml:"sha256" json:"sha256" jsonschema:"required" jsonschema_description:"SHA-256 checksum of the file."`
}

// MIGConfig is the division of GPUs into instances.
type MIGConfig struct {
	Strategy string   `yaml:"strategy,omitempty" json:"strategy,omitempty" jsonschema:"enum=none,enum=single,enum=mixed,default=none" jsonschema_description:"Resource name of MIG instances. single: nvidia.com/gpu, as for whole GPUs. mixed: by profile, for example nvidia.com/mig-1g.10gb."`
	Profiles []string `yaml:"profiles,omitempty" json:"profiles,omitempty" jsonschema_description:"MIG profiles of each GPU, one entry per instance, for example 1g.10gb. Profiles and their number depend on the GPU model; airgap checks them against the facts of each host when it builds the bundle. Without this field airgap does not divide GPUs, and removes the instances that it created before."`
}

// pluginVersion is the newest tested version (with Kubernetes 1.36).
const pluginVersion = "0.19.2"

// Strategies of MIG, as NVIDIA's device plugin calls them.
const (
	migNone   = "none"
	migSingle = "single"
	migMixed  = "mixed"
)

// Default fills empty fields.
func (c *Config) Default() {
	if c.Source == "" {
		c.Source = DKMS
	}
	if c.DevicePlugin == "" {
		c.DevicePlugin = pluginVersion
	}
	if c.MIG.Strategy == "" {
		c.MIG.Strategy = migNone
	}
}

var (
	versionForm  = regexp.MustCompile(`^\d+\.\d+\.\d+$`)
	sumForm      = regexp.MustCompile(`^[0-9a-f]{64}$`)
	profileForm  = regexp.MustCompile(`^[1-9]g\.\d{1,4}gb(\+(me|gfx|me\.all)|-me)?$`)
	installerURL = regexp.MustCompile(`^https://[^\s?#]+$`)
)

// Validate returns an error for every invalid value. Call Default first.
func (c Config) Validate(at *field.Path) field.ErrorList {
	all := c.validateDriver(at)
	if !versionForm.MatchString(c.DevicePlugin) {
		all = append(all, field.Invalid(at.Child("devicePlugin"), c.DevicePlugin, "expected a version such as "+pluginVersion))
	}
	if c.TimeSlices < 0 {
		all = append(all, field.Invalid(at.Child("timeSlices"), c.TimeSlices, "expected 0 or more"))
	}
	return append(all, c.MIG.validate(at.Child("mig"))...)
}

func (c Config) validateDriver(at *field.Path) field.ErrorList {
	var all field.ErrorList
	if sources := []Source{DKMS, Precompiled, Runfile, Site}; !slices.Contains(sources, c.Source) {
		all = append(all, field.NotSupported(at.Child("source"), c.Source, sources))
	}
	if flavours := []Flavour{"", Open, Proprietary}; !slices.Contains(flavours, c.Flavour) {
		all = append(all, field.NotSupported(at.Child("flavour"), c.Flavour, flavours[1:]))
	}
	if c.Branch != 0 && (c.Branch < 100 || c.Branch > 9999) {
		all = append(all, field.Invalid(at.Child("branch"), c.Branch, "expected the first number of a driver's version, such as 580"))
	}
	if c.Source == Site && (c.Branch != 0 || c.Flavour != "") {
		all = append(all, field.Forbidden(at.Child("source"), "with host the site chooses the driver: remove branch and flavour"))
	}
	return append(all, c.validateInstaller(at.Child("installer"))...)
}

func (c Config) validateInstaller(at *field.Path) field.ErrorList {
	if c.Source != Runfile {
		if c.Installer != (Download{}) {
			return field.ErrorList{field.Forbidden(at, "only with source: runfile")}
		}
		return nil
	}
	var all field.ErrorList
	if !installerURL.MatchString(c.Installer.URL) || c.InstallerVersion() == "" {
		all = append(all, field.Invalid(at.Child("url"), c.Installer.URL, "expected https://…/NVIDIA-Linux-x86_64-VERSION.run"))
	}
	if !sumForm.MatchString(c.Installer.SHA256) {
		all = append(all, field.Invalid(at.Child("sha256"), c.Installer.SHA256, "expected 64 hexadecimal digits: sha256sum of the file"))
	}
	if b := c.installerBranch(); c.Branch != 0 && b != 0 && b != c.Branch {
		all = append(all, field.Invalid(at.Child("url"), c.Installer.URL, "the installer has another branch than gpu.branch"))
	}
	return all
}

// InstallerFile returns the file name of NVIDIA's installer.
func (c Config) InstallerFile() string { return path.Base(c.Installer.URL) }

// InstallerVersion returns the version of the driver from the name of NVIDIA's installer; "" if the
// name has none.
func (c Config) InstallerVersion() string {
	version, _ := runfileVersion(c.InstallerFile()) // Validate reports the error
	return version
}

func (c Config) installerBranch() int {
	return Driver{Version: c.InstallerVersion()}.Branch()
}

func (m MIGConfig) validate(at *field.Path) field.ErrorList {
	var all field.ErrorList
	if strategies := []string{migNone, migSingle, migMixed}; !slices.Contains(strategies, m.Strategy) {
		all = append(all, field.NotSupported(at.Child("strategy"), m.Strategy, strategies))
	}
	for i, p := range m.Profiles {
		if !profileForm.MatchString(p) {
			all = append(all, field.Invalid(at.Child("profiles").Index(i), p, "expected a MIG profile such as 1g.10gb"))
		}
	}
	if n := m.computeSlices(); n > migSlices {
		all = append(all, field.Invalid(at.Child("profiles"), m.Profiles, fmt.Sprintf("they need %d slices of a GPU, but no GPU has more than %d (NVIDIA: MIG user guide)", n, migSlices)))
	}
	if len(m.Profiles) > 0 && m.Strategy == migNone {
		all = append(all, field.Required(at.Child("strategy"), "set single or mixed: the resource name of the instances"))
	}
	if m.Strategy == migSingle && slices.ContainsFunc(m.Profiles, func(p string) bool { return p != m.Profiles[0] }) {
		all = append(all, field.Invalid(at.Child("profiles"), m.Profiles, "with strategy single all instances must have the same profile"))
	}
	return all
}

// computeSlices returns the number of compute slices that the profiles need: 3g.40gb needs three. A
// profile with media extensions (1g.10gb+me) needs as many as the one without.
func (m MIGConfig) computeSlices() int {
	sum := 0
	for _, p := range m.Profiles {
		g, _, _ := strings.Cut(p, "g.")
		n, _ := strconv.Atoi(g) // an invalid profile counts as 0; it has its own error
		sum += n
	}
	return sum
}

// Image returns the image of NVIDIA's device plugin.
func (c Config) Image() string { return "nvcr.io/nvidia/k8s-device-plugin:v" + c.DevicePlugin }
