package gpu

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/enterprise"
)

// Server is what a plan has to know of a host with cards: its facts.
type Server struct {
	OS       string   // "el9"
	Kernels  []string // as uname -r has them, the running one first
	Core     string   // release of the newest kernel-core; "" where none is installed
	Compiler int      // major version of the gcc that the running kernel was built with; 0: unknown
	Devices  []Device
}

// Plan is what a host's cards take.
type Plan struct {
	Choice Choice
	// Driver are packages that have to be of one version, which begins with that of
	// the branch. "{version}" in a name stands for it.
	Driver []string
	// Packages are those whose version matters to themselves alone.
	Packages []string
}

// Module is the module of dnf under which NVIDIA's repositories have each branch
// as a stream.
const Module = "nvidia-driver"

// Toolkit has nvidia-ctk, nvidia-cdi-hook and nvidia-container-runtime.
const toolkit = "nvidia-container-toolkit-base"

// ErrNoCard says that a server has no card that containers can have.
var ErrNoCard = errors.New("there is no card on its PCI bus that containers can have")

// Plan decides what the server needs. Names are those of NVIDIA's repositories
// for Enterprise Linux, compute-only (NVIDIA: driver installation guide, Red Hat
// Enterprise Linux); precompiled modules are called after driver and kernel
// (NVIDIA/yum-packaging-precompiled-kmod). What no driver can drive is refused, and so
// is a card that cannot be divided as the section has it.
func (c Config) Plan(s Server) (Plan, error) {
	if err := c.MIG.refuse(s.Devices); err != nil {
		return Plan{}, err
	}
	if c.Source == Site {
		return Plan{Packages: []string{toolkit}}, nil
	}
	if len(s.Kernels) == 0 {
		return Plan{}, errors.New("its kernel is unknown")
	}
	choice, some, err := c.Choose(s.Devices)
	if err != nil {
		return Plan{}, err
	}
	if !some {
		return Plan{}, ErrNoCard
	}
	p := Plan{Choice: choice, Packages: []string{toolkit}}
	if c.Source != Runfile {
		p.Driver = append(c.modules(choice, s.Kernels), "nvidia-driver-cuda", "nvidia-persistenced")
	}
	if c.Source == Runfile || c.Source == DKMS {
		if err := s.compilers(); err != nil {
			return Plan{}, err
		}
		p.Packages = append(p.Packages, s.builders()...)
	}
	if c.Source == DKMS {
		p.Packages = append(p.Packages, "dkms")
	}
	if c.Source == DKMS && !enterprise.Of(s.OS).NoMatchedDevel && s.Core != "" {
		// EPEL's dkms wants it, and what is installed already must do: the newest one
		// would bring a kernel of its own, without most of its modules.
		p.Packages = append(p.Packages, "kernel-devel-matched-"+s.Core)
	}
	if HasSwitches(s.Devices) { // NVIDIA's installer has no fabric manager: a package of its very version does
		p.Driver = append(p.Driver, fabricPackage(choice.Branch))
	}
	if HasHiddenSwitches(s.Devices) {
		p.Packages = append(p.Packages, "nvlsm")
	}
	return p, nil
}

// Version is what the versions of the Driver packages begin with: "580.", or the
// whole of it where the installer's name says it.
func (c Config) Version(p Plan) string {
	if c.Source == Runfile {
		return c.InstallerVersion()
	}
	return fmt.Sprintf("%d.", p.Choice.Branch)
}

// Choose is the driver for a host's cards, as the section wishes it; some is false
// where it has none that containers can have.
func (c Config) Choose(devices []Device) (choice Choice, some bool, err error) {
	w := Wish{Branch: c.Branch, Flavour: c.Flavour}
	if c.Source == Runfile {
		w.Branch = c.installerBranch()
	}
	return Choose(devices, w)
}

// fabricPackage is the fabric manager's in NVIDIA's repositories, which had another name
// before branch 580 (NVIDIA/gpu-driver-container#585; before 470, one with the
// branch in it: NVIDIA/yum-packaging-fabric-manager#1).
func fabricPackage(branch int) string {
	if branch < 580 {
		return "nvidia-fabric-manager"
	}
	return "nvidia-fabricmanager"
}

// modules are the packages with the kernel's modules.
func (c Config) modules(choice Choice, kernels []string) []string {
	if c.Source == DKMS {
		if choice.Flavour == Open {
			return []string{"kmod-nvidia-open-dkms"}
		}
		return []string{"kmod-nvidia-latest-dkms"}
	}
	name := "kmod-nvidia-{version}-"
	if choice.Flavour == Open {
		name = "kmod-nvidia-open-{version}-"
	}
	var all []string
	for _, k := range kernels {
		all = append(all, name+withoutSystem.ReplaceAllString(k, ""))
	}
	return all
}

// withoutSystem leaves "5.14.0-570.18.1" of "5.14.0-570.18.1.el9_6.x86_64".
var withoutSystem = regexp.MustCompile(`\.el\d.*$`)

// builders are what a module is built with, for each kernel: its own headers, and
// a compiler of the version that it was built with itself.
func (s Server) builders() []string {
	all := []string{"kernel-headers", "make", "elfutils-libelf-devel", "gcc"}
	for _, k := range s.Kernels {
		devel := "kernel-devel-"
		if oracles(k) {
			devel = "kernel-uek-devel-"
		}
		all = append(all, devel+k)
	}
	if s.Compiler != 0 && s.Compiler != enterprise.Of(s.OS).GCC {
		all = append(all, fmt.Sprintf("gcc-toolset-%d-gcc", s.Compiler))
	}
	return all
}

// compilers refuses a kernel of Oracle's that the host has yet to boot: it may be built by
// another compiler than the system's, and the running kernel, Red Hat's, does not tell.
func (s Server) compilers() error {
	if len(s.Kernels) == 0 || oracles(s.Kernels[0]) {
		return nil
	}
	for _, k := range s.Kernels[1:] {
		if oracles(k) {
			return fmt.Errorf("it runs %s and boots %s next, and only when that runs is it known which compiler builds the driver for it: reboot into it and run airgap survey again", s.Kernels[0], k)
		}
	}
	return nil
}

// oracles tells Oracle's own kernel from Red Hat's, whose compiler is the system's.
func oracles(kernel string) bool { return strings.Contains(kernel, "uek") }

// gccVersion is in the kernel's own words, /proc/version:
//
//	Linux version 5.14.0-427.13.1.el9_4.x86_64 (mockbuild@…) (gcc (GCC) 11.4.1 20231218 (Red Hat 11.4.1-3), GNU ld version …
//	Linux version 6.12.0-100.28.2.el10uek.x86_64 (mockbuild@…) (gcc (GCC) 14.2.1 …
var gccVersion = regexp.MustCompile(`\bgcc(?: \([^)]*\)| version)? (\d+)\.\d`)

// Compiler is the major version of the gcc that built the kernel that says so in
// /proc/version; 0 where it says nothing of gcc.
func Compiler(procVersion string) int {
	m := gccVersion.FindStringSubmatch(procVersion)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // digits
	return n
}
