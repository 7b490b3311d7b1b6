package gpu

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/enterprise"
)

// Server has the facts of a host with GPUs that a plan needs.
type Server struct {
	OS       string   // "el9"
	Kernels  []string // releases as in uname -r, the running one first
	Core     string   // release of the newest installed kernel-core; "" for none
	Compiler int      // major version of the gcc that built the running kernel; 0: unknown
	Devices  []Device
}

// Plan is the driver and the packages that a host's GPUs require.
type Plan struct {
	Choice Choice
	// Driver are packages that must all have the same version, of the chosen branch. "{version}" in
	// a name is the placeholder for it.
	Driver []string
	// Packages are packages of any version.
	Packages []string
}

// Module is the dnf module in NVIDIA's repositories that has each branch as a stream.
const Module = "nvidia-driver"

// toolkit contains nvidia-ctk, nvidia-cdi-hook and nvidia-container-runtime.
const toolkit = "nvidia-container-toolkit-base"

// ErrNoGPU means that a server has no GPU for containers.
var ErrNoGPU = errors.New("its PCI bus has no GPU for containers")

// Plan returns the driver and the packages that the server needs. The names are those of NVIDIA's
// repositories for Enterprise Linux, compute-only (NVIDIA: driver installation guide, Red Hat
// Enterprise Linux). The names of precompiled modules contain the versions of driver and kernel
// (NVIDIA/yum-packaging-precompiled-kmod). It returns an error if no driver supports a GPU, or if a
// GPU does not support the MIG profiles of the section.
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
		return Plan{}, ErrNoGPU
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
		// EPEL's dkms requires it. It must match the installed kernel-core: the newest one would
		// install another kernel without most of its modules.
		p.Packages = append(p.Packages, "kernel-devel-matched-"+s.Core)
	}
	if HasSwitches(s.Devices) { // NVIDIA's installer has no fabric manager; the package must have exactly its version
		p.Driver = append(p.Driver, fabricPackage(choice.Branch))
	}
	if HasHiddenSwitches(s.Devices) {
		p.Packages = append(p.Packages, "nvlsm")
	}
	return p, nil
}

// Version returns the prefix of the versions of the Driver packages: "580.", or the full version from
// the installer's name.
func (c Config) Version(p Plan) string {
	if c.Source == Runfile {
		return c.InstallerVersion()
	}
	return fmt.Sprintf("%d.", p.Choice.Branch)
}

// Choose returns the driver for a host's GPUs that matches the section; some is false if the host has
// no GPU for containers.
func (c Config) Choose(devices []Device) (choice Choice, some bool, err error) {
	w := Request{Branch: c.Branch, Flavour: c.Flavour}
	if c.Source == Runfile {
		w.Branch = c.installerBranch()
	}
	return Choose(devices, w)
}

// fabricPackage returns the package of the fabric manager in NVIDIA's repositories. It had another name
// before branch 580 (NVIDIA/gpu-driver-container#585); before 470 the name contained the branch
// (NVIDIA/yum-packaging-fabric-manager#1).
func fabricPackage(branch int) string {
	if branch < 580 {
		return "nvidia-fabric-manager"
	}
	return "nvidia-fabricmanager"
}

// modules returns the packages with the kernel modules.
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

// withoutSystem reduces "5.14.0-570.18.1.el9_6.x86_64" to "5.14.0-570.18.1".
var withoutSystem = regexp.MustCompile(`\.el\d.*$`)

// builders returns the packages for the build of a module: for each kernel its headers, and a compiler
// of the version that built the kernel.
func (s Server) builders() []string {
	all := []string{"kernel-headers", "make", "elfutils-libelf-devel", "gcc"}
	for _, k := range s.Kernels {
		devel := "kernel-devel-"
		if isOracle(k) {
			devel = "kernel-uek-devel-"
		}
		all = append(all, devel+k)
	}
	if s.Compiler != 0 && s.Compiler != enterprise.Of(s.OS).GCC {
		all = append(all, fmt.Sprintf("gcc-toolset-%d-gcc", s.Compiler))
	}
	return all
}

// compilers returns an error if a Red Hat kernel runs and an Oracle kernel boots next: the Oracle kernel
// may be built with another compiler, which is known only when it runs.
func (s Server) compilers() error {
	if len(s.Kernels) == 0 || isOracle(s.Kernels[0]) {
		return nil
	}
	for _, k := range s.Kernels[1:] {
		if isOracle(k) {
			return fmt.Errorf("it runs %s and boots %s next, and the compiler for the driver is known only when that kernel runs: reboot into it and run airgap survey again", s.Kernels[0], k)
		}
	}
	return nil
}

// isOracle reports whether a kernel is Oracle's. Red Hat's kernels are built with the system's compiler.
func isOracle(kernel string) bool { return strings.Contains(kernel, "uek") }

// gccVersion matches the compiler in /proc/version:
//
//	Linux version 5.14.0-427.13.1.el9_4.x86_64 (mockbuild@…) (gcc (GCC) 11.4.1 20231218 (Red Hat 11.4.1-3), GNU ld version …
//	Linux version 6.12.0-100.28.2.el10uek.x86_64 (mockbuild@…) (gcc (GCC) 14.2.1 …
var gccVersion = regexp.MustCompile(`\bgcc(?: \([^)]*\)| version)? (\d+)\.\d`)

// Compiler returns the major version of the gcc in /proc/version; 0 if it names no gcc.
func Compiler(procVersion string) int {
	m := gccVersion.FindStringSubmatch(procVersion)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // digits
	return n
}
