package preflight

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Classes of NVIDIA's PCI functions, by their first digits.
const (
	classDisplay = "03"   // 0300 and 0302: a GPU
	classBridge  = "0680" // an NVSwitch
)

var gpuNouveau = Check{
	ID: "gpu-nouveau", Title: "nouveau leaves the GPU alone", Source: "NVIDIA driver installation guide: disabling nouveau",
	Breaks: "The free driver holds the card, and NVIDIA's cannot have it.",
	Role:   GPU, Needs: []string{"modules"}, Run: judgeNouveau,
}

func judgeNouveau(f *Facts, w *Want) Result {
	if f.Modules["nouveau"] == Loaded && w.NouveauOff {
		return Result{Warn, "nouveau is loaded", "not loaded", "nothing: the installation keeps it off; where it has the console, this host has to be rebooted once, and the same command goes on"}
	}
	if f.Modules["nouveau"] == Loaded {
		return Result{Fail, "nouveau is loaded", "not loaded, also after a reboot",
			"printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' >/etc/modprobe.d/nouveau.conf; dracut -f; reboot"}
	}
	return pass("not loaded")
}

var gpuKernelDevel = Check{
	ID: "gpu-kernel-devel", Title: "What the driver is built with", Source: "NVIDIA driver installation guide: kernel headers and development packages",
	Breaks: "The driver is not built, or for a kernel that does not run.",
	Role:   GPU, Needs: []string{"kernel", "packages"}, Run: judgeKernelDevel,
}

// judgeKernelDevel looks at hosts whose driver is built there. The kernel may be
// another one than when the bundle was made.
func judgeKernelDevel(f *Facts, w *Want) Result {
	switch {
	case f.Driver != "":
		return skipped("a driver is loaded")
	case !w.buildsDriver():
		return skipped("no driver is built on this host")
	}
	devel := "kernel-devel"
	if strings.Contains(f.Kernel.Release, "uek") {
		devel = "kernel-uek-devel"
	}
	var lacking []string
	running := func(p Package) bool {
		n, err := p.NEVRA()
		return p.Name == devel && err == nil && n.Kernel() == f.Kernel.Release
	}
	brought := slices.Contains(w.Packages, devel) && (w.Headers == nil || slices.Contains(w.Headers, f.Kernel.Release))
	if !brought && !slices.ContainsFunc(f.Packages, running) {
		lacking = append(lacking, devel+"-"+f.Kernel.Release)
	}
	for _, name := range []string{"gcc", "make"} {
		if f.installed(name) == nil && !slices.Contains(w.Packages, name) {
			lacking = append(lacking, name)
		}
	}
	if len(lacking) > 0 {
		return Result{Fail, "missing: " + strings.Join(lacking, ", "), "on the host, or in the bundle", "survey this host again and make the bundle with its facts: it takes what belongs to the running kernel"}
	}
	return pass("%s of %s, gcc and make", devel, f.Kernel.Release)
}

var gpuForeign = Check{
	ID: "gpu-foreign", Title: "One installation of the driver", Source: "NVIDIA driver installation guide: remove earlier installations",
	Breaks: "Kernel module and libraries of two versions do not talk to each other: \"driver/library version mismatch\".",
	Role:   GPU, Needs: []string{"packages", "pci", "runfile"}, Run: judgeForeign,
}

// loadedVersion is the number in /proc/driver/nvidia/version, "580.82.07".
var loadedVersion = regexp.MustCompile(`\s(\d{3}\.\d+(?:\.\d+)?)\s`)

func (f *Facts) driverVersion() string {
	if m := loadedVersion.FindStringSubmatch(f.Driver + " "); m != nil {
		return m[1]
	}
	return ""
}

// userspace is the version of NVIDIA's libraries by their package, "" without one.
func (f *Facts) userspace() string {
	for _, name := range []string{"nvidia-driver-cuda-libs", "nvidia-driver-libs", "libnvidia-ml", "nvidia-driver-cuda"} {
		if p := f.installed(name); p != nil {
			return p.Version
		}
	}
	return ""
}

func judgeForeign(f *Facts, w *Want) Result {
	libraries, module := f.userspace(), f.driverVersion()
	switch {
	case f.Runfile && libraries != "":
		return Result{Fail, "NVIDIA's installer and RPMs (" + libraries + ") are both there", "one of them", "nvidia-uninstall, then install the RPMs again; reboot"}
	case libraries != "" && module != "" && libraries != module:
		return Result{Fail, fmt.Sprintf("the loaded module is %s, the libraries are %s", module, libraries), "the same version", "reboot; if they still differ, install the driver's packages again, all of one version"}
	case libraries != "" && w.Installer:
		return Result{Fail, "a driver by RPM (" + libraries + "), and the bundle brings NVIDIA's installer", "one of them", "remove those packages and reboot; or set gpu.source to dkms, precompiled or host, and make the bundle again"}
	case f.Runfile && w.bringsDriver():
		return Result{Fail, "a driver by NVIDIA's installer, and the bundle brings RPMs", "one of them", "nvidia-uninstall and reboot; or set gpu.source to runfile or host, and make the bundle again"}
	case libraries == "" && module == "":
		return pass("none")
	default:
		return pass("%s", strings.TrimSpace(module+" "+driverBy(f.Runfile, libraries != "")))
	}
}

// driverBy says who brought the driver: an image of the site's may have one that neither did.
func driverBy(installer, packages bool) string {
	switch {
	case installer:
		return "by NVIDIA's installer"
	case packages:
		return "by RPM"
	default:
		return "neither by RPM nor by NVIDIA's installer"
	}
}

var gpuFabric = Check{
	ID: "gpu-fm", Title: "Fabric Manager for NVSwitches", Source: "NVIDIA Fabric Manager user guide: its version is the driver's",
	Breaks: "CUDA starts on no GPU of a machine with NVSwitches: \"system not yet initialized\".",
	Role:   GPU, Needs: []string{"pci", "packages"}, Run: judgeFabric,
}

func judgeFabric(f *Facts, w *Want) Result {
	switches := 0
	for _, d := range f.PCI {
		if strings.HasPrefix(d.Class, classBridge) {
			switches++
		}
	}
	if switches == 0 {
		return skipped("no NVSwitches")
	}
	names := []string{"nvidia-fabricmanager", "nvidia-fabric-manager"}
	brought := slices.ContainsFunc(names, func(n string) bool { return slices.Contains(w.Packages, n) })
	module := f.driverVersion()
	for _, name := range names {
		if p := f.installed(name); p != nil {
			if module != "" && p.Version != module && brought { // amid an exchange
				return Result{Warn, fmt.Sprintf("%s %s with driver %s", name, p.Version, module), "the same version", "the bundle brings both of one: run the command to its end, which may ask for a reboot"}
			}
			if module != "" && p.Version != module {
				return Result{Fail, fmt.Sprintf("%s %s with driver %s", name, p.Version, module), module, "install " + name + "-" + module}
			}
			return pass("%s %s for %d NVSwitches", name, p.Version, switches)
		}
	}
	switch {
	case brought:
		return pass("the bundle brings it, for %d NVSwitches", switches)
	case module == "":
		return Result{Warn, fmt.Sprintf("%d NVSwitches, and no Fabric Manager yet", switches), "the one of the driver's version", "take nvidia-fabricmanager of exactly the driver's version into the bundle"}
	default:
		return Result{Fail, fmt.Sprintf("%d NVSwitches, and no Fabric Manager", switches), "nvidia-fabricmanager-" + module, "add it to packages.install and make the bundle again"}
	}
}

var gpuBAR = Check{
	ID: "gpu-bar", Title: "The GPU's memory has addresses", Source: "PCI: unassigned base address registers; firmware setting \"Above 4G Decoding\"",
	Breaks: "The driver loads and finds no GPU: its memory is nowhere to be addressed.",
	Role:   GPU, Needs: []string{"pci"}, Run: judgeBAR,
}

// judgeBAR looks at the first two windows, which every GPU of NVIDIA's has.
func judgeBAR(f *Facts, _ *Want) Result {
	var without []string
	looked := 0
	for _, d := range f.PCI {
		if !strings.HasPrefix(d.Class, classDisplay) || d.Virtual || len(d.Windows) < 2 {
			continue
		}
		looked++
		for i, what := range []string{"registers", "memory"} {
			if d.Windows[i] <= 0 {
				without = append(without, fmt.Sprintf("the %s of %s", what, d.Address))
			}
		}
	}
	if len(without) > 0 {
		return Result{Fail, "no address for " + strings.Join(without, ", "), "an address for each", "firmware: switch on \"Above 4G Decoding\" (and \"Resizable BAR\"); hypervisor: 64-bit MMIO for passthrough (vSphere: pciPassthru.use64bitMMIO)"}
	}
	return pass("%d looked at", looked)
}
