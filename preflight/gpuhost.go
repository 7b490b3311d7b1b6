package preflight

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

// Classes of NVIDIA's PCI functions, by their first hexadecimal digits.
const (
	classDisplay = "03"   // 0300 and 0302: a GPU
	classBridge  = "0680" // an NVSwitch
)

var gpuNouveau = Check{
	ID: "gpu-nouveau", Title: "nouveau is not loaded", Source: "NVIDIA driver installation guide: disabling nouveau",
	Breaks: "The nouveau driver claims the GPU, and NVIDIA's driver cannot use it.",
	Role:   GPU, Needs: []string{"modules"}, Run: judgeNouveau,
}

func judgeNouveau(f *facts.Facts, w *Want) Result {
	if f.Modules["nouveau"] == facts.Loaded && w.NouveauOff {
		return Result{Warn, "nouveau is loaded", "not loaded", "no action: the installation disables it; if nouveau drives the console, reboot this host once when the command asks, and run the same command again"}
	}
	if f.Modules["nouveau"] == facts.Loaded {
		return Result{Fail, "nouveau is loaded", "not loaded, including after a reboot",
			"run printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' >/etc/modprobe.d/nouveau.conf; dracut -f; reboot"}
	}
	return pass("not loaded")
}

var gpuKernelDevel = Check{
	ID: "gpu-kernel-devel", Title: "Kernel headers and compiler for the driver are available", Source: "NVIDIA driver installation guide: kernel headers and development packages",
	Breaks: "The driver fails to build, or is built for another kernel than the running one.",
	Role:   GPU, Needs: []string{"kernel", "packages"}, Run: judgeKernelDevel,
}

// judgeKernelDevel applies to hosts that build the driver. The kernel may have changed since the
// bundle was created.
func judgeKernelDevel(f *facts.Facts, w *Want) Result {
	switch {
	case f.Driver != "":
		return skipped("a driver is loaded")
	case !w.buildsDriver():
		return skipped("this host does not build a driver")
	}
	devel := "kernel-devel"
	if strings.Contains(f.Kernel.Release, "uek") {
		devel = "kernel-uek-devel"
	}
	var missing []string
	running := func(p facts.Package) bool {
		n, err := p.NEVRA()
		return p.Name == devel && err == nil && n.Kernel() == f.Kernel.Release
	}
	bundled := slices.Contains(w.Packages, devel) && (w.Headers == nil || slices.Contains(w.Headers, f.Kernel.Release))
	if !bundled && !slices.ContainsFunc(f.Packages, running) {
		missing = append(missing, devel+"-"+f.Kernel.Release)
	}
	for _, name := range []string{"gcc", "make"} {
		if f.Installed(name) == nil && !slices.Contains(w.Packages, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return Result{Fail, "missing: " + strings.Join(missing, ", "), "installed, or in the bundle", "run airgap survey on this host again, and create the bundle with its facts: it then contains the packages for the running kernel"}
	}
	return pass("%s for %s, gcc and make", devel, f.Kernel.Release)
}

var gpuForeign = Check{
	ID: "gpu-foreign", Title: "The driver is installed in one way only", Source: "NVIDIA driver installation guide: remove earlier installations",
	Breaks: "A kernel module does not work with libraries of another version: \"driver/library version mismatch\".",
	Role:   GPU, Needs: []string{"packages", "pci", "runfile"}, Run: judgeForeign,
}

func judgeForeign(f *facts.Facts, w *Want) Result {
	libraries, module := f.Userspace(), f.DriverVersion()
	switch {
	case f.Runfile && libraries != "":
		return Result{Fail, "both NVIDIA's installer and RPMs (" + libraries + ") have installed a driver", "one of them", "run nvidia-uninstall, then install the RPMs again, and reboot"}
	case libraries != "" && module != "" && libraries != module:
		return Result{Fail, fmt.Sprintf("the loaded module is %s, the libraries are %s", module, libraries), "the same version", "reboot; if they still differ, reinstall the driver's packages, all of one version"}
	case libraries != "" && w.Installer:
		return Result{Fail, "a driver is installed by RPM (" + libraries + "), and the bundle has NVIDIA's installer", "one of them", "remove those packages and reboot; or set gpu.source to dkms, precompiled or host, and create the bundle again"}
	case f.Runfile && w.bundlesDriver():
		return Result{Fail, "a driver is installed by NVIDIA's installer, and the bundle has RPMs", "one of them", "run nvidia-uninstall and reboot; or set gpu.source to runfile or host, and create the bundle again"}
	case libraries == "" && module == "":
		return pass("none")
	default:
		return pass("%s", strings.TrimSpace(module+" "+driverBy(f.Runfile, libraries != "")))
	}
}

// driverBy says how the driver was installed. A system image of the site may use neither way.
func driverBy(installer, packages bool) string {
	switch {
	case installer:
		return "by NVIDIA's installer"
	case packages:
		return "by RPM"
	default:
		return "not by RPM or NVIDIA's installer"
	}
}

var gpuFabric = Check{
	ID: "gpu-fm", Title: "Fabric Manager matches the driver", Source: "NVIDIA Fabric Manager user guide: its version must equal the driver's",
	Breaks: "On a machine with NVSwitches CUDA does not start on any GPU: \"system not yet initialized\".",
	Role:   GPU, Needs: []string{"pci", "packages"}, Run: judgeFabric,
}

func judgeFabric(f *facts.Facts, w *Want) Result {
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
	bundled := slices.ContainsFunc(names, func(n string) bool { return slices.Contains(w.Packages, n) })
	module := f.DriverVersion()
	for _, name := range names {
		if p := f.Installed(name); p != nil {
			if module != "" && p.Version != module && bundled { // during a driver update
				return Result{Warn, fmt.Sprintf("%s %s with driver %s", name, p.Version, module), "the same version", "let the command finish: the bundle has both in the same version; the command may ask for a reboot"}
			}
			if module != "" && p.Version != module {
				return Result{Fail, fmt.Sprintf("%s %s with driver %s", name, p.Version, module), module, "install " + name + "-" + module}
			}
			return pass("%s %s for %d NVSwitches", name, p.Version, switches)
		}
	}
	switch {
	case bundled:
		return pass("the bundle has it, for %d NVSwitches", switches)
	case module == "":
		return Result{Warn, fmt.Sprintf("%d NVSwitches, and no Fabric Manager yet", switches), "the version of the driver", "add nvidia-fabricmanager in exactly the driver's version to the bundle"}
	default:
		return Result{Fail, fmt.Sprintf("%d NVSwitches, and no Fabric Manager", switches), "nvidia-fabricmanager-" + module, "add it to packages.install and create the bundle again"}
	}
}

var gpuBAR = Check{
	ID: "gpu-bar", Title: "GPU memory has PCI addresses", Source: "PCI: unassigned base address registers; firmware setting \"Above 4G Decoding\"",
	Breaks: "The driver loads but finds no GPU, because the GPU's memory has no address.",
	Role:   GPU, Needs: []string{"pci"}, Run: judgeBAR,
}

// judgeBAR checks the first two windows, which every NVIDIA GPU has.
func judgeBAR(f *facts.Facts, _ *Want) Result {
	var without []string
	checked := 0
	for _, d := range f.PCI {
		if !strings.HasPrefix(d.Class, classDisplay) || d.Virtual || len(d.Windows) < 2 {
			continue
		}
		checked++
		for i, window := range []string{"registers", "memory"} {
			if d.Windows[i] <= 0 {
				without = append(without, fmt.Sprintf("the %s of %s", window, d.Address))
			}
		}
	}
	if len(without) > 0 {
		return Result{Fail, "no address for " + strings.Join(without, ", "), "an address for each", "enable \"Above 4G Decoding\" (and \"Resizable BAR\") in the firmware; in a hypervisor enable 64-bit MMIO for passthrough (vSphere: pciPassthru.use64bitMMIO)"}
	}
	return pass("%d checked", checked)
}
