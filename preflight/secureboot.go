package preflight

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// SecureBoot has the requirements of the firmware and the kernel for kernel modules.
type SecureBoot struct {
	On       bool   `yaml:"on" json:"on"`
	Lockdown string `yaml:"lockdown,omitempty" json:"lockdown,omitempty"` // "none", "integrity" or "confidentiality"
	// Enforced is true if the kernel refuses all unsigned modules, because of its command line
	// or its configuration (CONFIG_MODULE_SIG_FORCE).
	Enforced bool `yaml:"enforced,omitempty" json:"enforced,omitempty"`
	// Key is true if the key that DKMS signs modules with is enrolled.
	Key bool `yaml:"key,omitempty" json:"key,omitempty"`
}

// Firmware variables are files: four bytes of attributes, then the value.
const (
	efiVariables  = "sys/firmware/efi/efivars"
	secureBootVar = efiVariables + "/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
	mokListVar    = efiVariables + "/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23"
	dkmsKey       = "var/lib/dkms/mok.pub" // DER
)

func readSecureBoot(_ context.Context, r reader, f *Facts) error {
	state, err := r.bytes(secureBootVar)
	if err != nil {
		return err
	}
	f.SecureBoot.On = len(state) > 4 && state[4] == 1
	lockdown, err := r.optional("sys/kernel/security/lockdown") // none [integrity] confidentiality
	if err != nil {
		return err
	}
	if _, rest, ok := strings.Cut(lockdown, "["); ok {
		f.SecureBoot.Lockdown, _, _ = strings.Cut(rest, "]")
	}
	enforced, err := r.optional("sys/module/module/parameters/sig_enforce") // Y or N
	if err != nil {
		return err
	}
	f.SecureBoot.Enforced = enforced == "Y"
	enrolled, err := r.bytes(mokListVar)
	if err != nil {
		return err
	}
	key, err := r.bytes(dkmsKey)
	f.SecureBoot.Key = len(key) > 0 && bytes.Contains(enrolled, key)
	return err
}

// bytes returns a file's content; nil if the file does not exist.
func (r reader) bytes(path string) ([]byte, error) {
	data, err := fs.ReadFile(r.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

var secureBoot = Check{
	ID: "secure-boot", Title: "The kernel accepts the driver's modules", Source: "kernel_lockdown(7); Linux: kernel module signing; DKMS: module signing",
	Breaks: "The kernel refuses a driver that was built on the host, and its GPUs cannot be used.",
	Needs:  []string{"secureBoot", "kernel"}, Run: judgeSecureBoot,
}

// judgeSecureBoot fails if the host builds modules and their signing key is not enrolled. It
// warns otherwise, because a vendor may have signed the modules.
func judgeSecureBoot(f *Facts, w *Want) Result {
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
func signatures(f *Facts, w *Want) (why, fix string) {
	switch parameters := f.signatureParameters(); {
	case f.SecureBoot.On:
		return "on", w.signing()
	case len(parameters) > 0:
		names := make([]string, len(parameters))
		for i, p := range parameters {
			names[i], _, _ = strings.Cut(p, "=")
		}
		return "off, and " + strings.Join(parameters, ", ") + " on the kernel command line",
			`if the site allows it, run grubby --update-kernel=ALL --remove-args="` + strings.Join(names, " ") + `", and reboot; otherwise ` + precompiled
	case f.SecureBoot.locked() || f.SecureBoot.Enforced:
		return "off, but the kernel accepts only signed modules, because of its configuration or a setting since boot", precompiled
	}
	return "", ""
}

// locked reports whether the kernel is in lockdown.
func (s SecureBoot) locked() bool {
	return s.Lockdown == "integrity" || s.Lockdown == "confidentiality"
}

// signatureParameters lists the parameters of the kernel command line that forbid unsigned
// modules without Secure Boot. sig_enforce can only be turned on; the kernel treats - and _ as
// equal. A kernel without lockdown support ignores that parameter.
func (f *Facts) signatureParameters() []string {
	var asks []string
	for parameter := range strings.FieldsSeq(f.Kernel.Cmdline) {
		name, value, given := strings.Cut(parameter, "=")
		switch strings.ReplaceAll(name, "-", "_") {
		case "module.sig_enforce":
			if !given || slices.Contains([]string{"1", "y", "Y", "on"}, value) {
				asks = append(asks, parameter)
			}
		case "lockdown":
			if f.SecureBoot.locked() && value == f.SecureBoot.Lockdown {
				asks = append(asks, parameter)
			}
		}
	}
	return asks
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
