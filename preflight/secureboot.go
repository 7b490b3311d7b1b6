package preflight

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// SecureBoot is what the firmware and the kernel ask of kernel modules.
type SecureBoot struct {
	On       bool   `yaml:"on" json:"on"`
	Lockdown string `yaml:"lockdown,omitempty" json:"lockdown,omitempty"` // "none", "integrity" or "confidentiality"
	// Enforced says whether the kernel takes no unsigned module at all, by its command line
	// or because it was built that way (CONFIG_MODULE_SIG_FORCE).
	Enforced bool `yaml:"enforced,omitempty" json:"enforced,omitempty"`
	// Key says whether the key that DKMS signs modules with is enrolled.
	Key bool `yaml:"key,omitempty" json:"key,omitempty"`
}

// The firmware's variables are files: four bytes of attributes, then the value.
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

// bytes is a file's content; nil when there is no such file.
func (r reader) bytes(path string) ([]byte, error) {
	data, err := fs.ReadFile(r.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

var secureBoot = Check{
	ID: "secure-boot", Title: "Secure Boot and the driver's modules", Source: "kernel_lockdown(7); Linux: kernel module signing; DKMS: module signing",
	Breaks: "The kernel refuses a driver that was built on the host: its GPUs stay invisible.",
	Needs:  []string{"secureBoot", "kernel"}, Run: judgeSecureBoot,
}

// judgeSecureBoot fails where modules are to be built here and nobody trusts who signs
// them; modules that come signed by a vendor may pass.
func judgeSecureBoot(f *Facts, w *Want) Result {
	on, fix := f.signatures(w)
	switch {
	case on == "":
		return pass("off")
	case !w.Is(GPU):
		return pass("%s; no module is built for this host", on)
	case f.Driver != "":
		return pass("%s; the driver is loaded", on)
	case f.SecureBoot.Key:
		return pass("%s; the key of DKMS is enrolled", on)
	}
	r := Result{Warn, on + "; no key for modules built on this host is enrolled", "a driver with a signature that the kernel trusts", fix}
	if w.buildsDriver() {
		r.Status = Fail
	}
	return r
}

// signatures says why the kernel takes no module without a signature, and how a driver
// can have one; nothing where it takes any.
func (f *Facts) signatures(w *Want) (why, fix string) {
	switch parameters := f.signatureParameters(); {
	case f.SecureBoot.On:
		return "on", w.signing()
	case len(parameters) > 0:
		names := make([]string, len(parameters))
		for i, p := range parameters {
			names[i], _, _ = strings.Cut(p, "=")
		}
		return "off, and " + strings.Join(parameters, ", ") + " on the kernel's command line",
			`where the site allows it: grubby --update-kernel=ALL --remove-args="` + strings.Join(names, " ") + `", and reboot. Else ` + known
	case f.SecureBoot.locked() || f.SecureBoot.Enforced:
		return "off, and the kernel as it is built or was told since it booted takes only signed modules", known
	}
	return "", ""
}

// locked tells whether the kernel keeps even root from changing it.
func (s SecureBoot) locked() bool {
	return s.Lockdown == "integrity" || s.Lockdown == "confidentiality"
}

// signatureParameters are those of the kernel's command line by which it takes no unsigned
// module, as hardening does it without Secure Boot. sig_enforce can only be turned on; - and
// _ are the same to the kernel. A kernel without lockdown takes no notice of that.
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

// known has no mokutil in it: without UEFI there is nowhere to enrol a key.
const known = "gpu.source: precompiled, with modules that a key of the kernel's own has signed"

// signing is how the driver's modules get a signature that is trusted. NVIDIA's installer
// makes no key that could be enrolled.
func (w *Want) signing() string {
	const vendor = "gpu.source: precompiled takes modules that a vendor signed"
	switch {
	case w.Installer:
		return vendor + "; gpu.source: dkms signs with a key of this host, which can be enrolled. NVIDIA's installer signs nothing"
	case w.bringsDKMS():
		return vendor + ". Or, with this check set to warn: install makes the key and stops at the driver; then mokutil --import /var/lib/dkms/mok.pub, reboot, enrol the key at the console, and run the same command again"
	default:
		return "mokutil --test-key KEY.der says whether the key that the driver is signed with is enrolled; mokutil --import KEY.der, reboot, and enrol it at the console"
	}
}

// buildsDriver tells whether the bundle has modules that are compiled on the host.
func (w *Want) buildsDriver() bool { return w.Installer || w.bringsDKMS() }

// bringsDriver tells whether it has packages of a driver.
func (w *Want) bringsDriver() bool {
	return w.bringsDKMS() || slices.Contains(w.Packages, "nvidia-driver-cuda")
}

func (w *Want) bringsDKMS() bool {
	return slices.ContainsFunc(w.Packages, func(name string) bool {
		return strings.HasSuffix(name, "-dkms") || strings.HasPrefix(name, "dkms-nvidia")
	})
}
