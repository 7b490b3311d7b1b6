package preflight

import (
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var secureBoot = Check{
	ID: "secure-boot", Title: "The kernel accepts the driver's modules", Source: "kernel_lockdown(7); Linux: kernel module signing; DKMS: module signing",
	Breaks: "The kernel refuses a driver that was built on the host, and its GPUs cannot be used.",
	Needs:  []string{"secureBoot", "kernel"}, Run: judgeSecureBoot,
}

// judgeSecureBoot fails if the host builds modules and their signing key is not enrolled. It
// warns otherwise, because a vendor may have signed the modules.
func judgeSecureBoot(f *facts.Facts, w *Want) Result {
	on, fix := signatures(f, w)
	switch {
	case on == "":
		return pass("off")
	case !w.HasRole(GPU):
		return pass("%s; this host needs no driver modules", on)
	case f.Driver != "":
		return pass("%s; the driver is loaded", on)
	case f.SecureBoot.Key:
		return pass("%s; the key of DKMS is enrolled", on)
	}
	r := Result{Warn, on + "; no enrolled key for modules that are built on this host", "a driver with a signature that the kernel trusts", fix}
	if w.buildsDriver() {
		r.Status = Fail
	}
	return r
}

// signatures returns why the kernel refuses unsigned modules, and how to get a signed driver. Both
// are "" if the kernel accepts unsigned modules.
func signatures(f *facts.Facts, w *Want) (why, fix string) {
	switch parameters := signatureParameters(f); {
	case f.SecureBoot.On:
		return "on", w.signing()
	case len(parameters) > 0:
		names := make([]string, len(parameters))
		for i, p := range parameters {
			names[i], _, _ = strings.Cut(p, "=")
		}
		return "off, and " + strings.Join(parameters, ", ") + " on the kernel command line",
			`if the site allows it, run grubby --update-kernel=ALL --remove-args="` + strings.Join(names, " ") + `", and reboot; otherwise ` + precompiled
	case f.SecureBoot.Locked() || f.SecureBoot.Enforced:
		return "off, but the kernel accepts only signed modules, because of its configuration or a setting since boot", precompiled
	}
	return "", ""
}

// precompiled does not mention mokutil: without UEFI no key can be enrolled.
const precompiled = "set gpu.source: precompiled, for modules that are signed with a key that the kernel contains"

// signing is the hint for getting trusted driver modules. NVIDIA's installer creates no key that
// could be enrolled.
func (w *Want) signing() string {
	const vendor = "set gpu.source: precompiled, for modules that a vendor has signed"
	switch {
	case w.Installer:
		return vendor + "; or set gpu.source: dkms, which signs with a key of this host that you can enroll. NVIDIA's installer signs nothing"
	case w.bundlesDKMS():
		return vendor + ". Or set this check to warn: install creates the key and stops at the driver; then run mokutil --import /var/lib/dkms/mok.pub, reboot, enroll the key at the console, and run the same command again"
	default:
		return "check with mokutil --test-key KEY.der whether the signing key of the driver is enrolled; if not, run mokutil --import KEY.der, reboot, and enroll it at the console"
	}
}

// buildsDriver reports whether the host compiles driver modules of the bundle.
func (w *Want) buildsDriver() bool { return w.Installer || w.bundlesDKMS() }

// bundlesDriver reports whether the bundle has packages of a driver.
func (w *Want) bundlesDriver() bool {
	return w.bundlesDKMS() || slices.Contains(w.Packages, "nvidia-driver-cuda")
}

func (w *Want) bundlesDKMS() bool {
	return slices.ContainsFunc(w.Packages, func(name string) bool {
		return strings.HasSuffix(name, "-dkms") || strings.HasPrefix(name, "dkms-nvidia")
	})
}

// signatureParameters lists the parameters of the kernel command line that forbid unsigned
// modules without Secure Boot. sig_enforce can only be turned on; the kernel treats - and _ as
// equal. A kernel without lockdown support ignores that parameter.
func signatureParameters(f *facts.Facts) []string {
	var asks []string
	for parameter := range strings.FieldsSeq(f.Kernel.Cmdline) {
		name, value, given := strings.Cut(parameter, "=")
		switch strings.ReplaceAll(name, "-", "_") {
		case "module.sig_enforce":
			if !given || slices.Contains([]string{"1", "y", "Y", "on"}, value) {
				asks = append(asks, parameter)
			}
		case "lockdown":
			if f.SecureBoot.Locked() && value == f.SecureBoot.Lockdown {
				asks = append(asks, parameter)
			}
		}
	}
	return asks
}
