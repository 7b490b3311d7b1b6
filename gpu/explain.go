package gpu

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// explainModule adds the reason why the kernel does not load a module: no module exists for this
// kernel, Secure Boot does not trust its signature, or the reason in the kernel log.
func (s Setup) explainModule(ctx context.Context, module string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if missing := s.noModule(ctx); missing != nil {
		return missing
	}
	said := s.kernelMessages(ctx)
	return &Failure{What: "load kernel module " + module, Err: err, Log: said, Next: cmp.Or(hintFor(err.Error()+said), "read the kernel log: dmesg")}
}

// NotLoaded adds the kernel's messages since the boot and a hint to err, the error for a module that
// is not loaded. It adds nothing if the process may not read the kernel log.
func (s Setup) NotLoaded(ctx context.Context, what string, err error) error {
	said := s.kernelMessages(ctx)
	return &Failure{What: what, Err: err, Log: said, Next: hintFor(said)}
}

// kernelMessages returns the messages of the kernel log about the driver; "" for none.
func (s Setup) kernelMessages(ctx context.Context) string {
	log, err := s.Host.Run(ctx, host.Cmd{Name: "dmesg"})
	if err != nil {
		return "" // the caller reports the failure itself
	}
	return driverMessages(string(log))
}

// noModule returns nil if the running kernel has NVIDIA's module.
func (s Setup) noModule(ctx context.Context) error {
	running, err := s.running()
	if err != nil {
		return err
	}
	kernels, err := s.kernels("nvidia")
	if err != nil || slices.Contains(kernels, running) {
		return err
	}
	have := "no installed kernel has it"
	if len(kernels) > 0 {
		have = "it exists for " + strings.Join(kernels, ", ")
	}
	f := &Failure{
		What: "load kernel module nvidia", Err: fmt.Errorf("the module does not exist for the running kernel %s; %s", running, have),
		Next: "boot a kernel that has it, or build a new bundle with kernel-devel-" + running + " or a precompiled module for it",
	}
	if status, err := s.Host.Run(ctx, host.Cmd{Name: "dkms", Args: []string{"status"}}); err == nil {
		f.Log = strings.TrimSpace("dkms status: " + strings.TrimSpace(string(status)))
	}
	return f
}

// driverMessages returns the last lines of the kernel log about NVIDIA's module.
func driverMessages(log string) string {
	var said []string
	for line := range strings.Lines(log) {
		low := strings.ToLower(line)
		if strings.Contains(low, "nvrm") || strings.Contains(low, "nvidia") || strings.Contains(low, "is rejected") || strings.Contains(low, "lockdown") {
			said = append(said, strings.TrimSpace(line))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "last kernel messages:\n" + lastLines(strings.Join(said, "\n"), 8)
}

// hintFor returns a hint for stable messages of the kernel and the module; "" for other messages.
func hintFor(text string) string {
	for _, known := range []struct{ words, next string }{
		{"Key was rejected by service", secureBoot},
		{"Required key not available", secureBoot},
		{"Unknown symbol", "the module is for another kernel: build it again (dkms install), or use a precompiled one for this kernel"},
		{"Invalid module format", "the module is for another kernel: build it again (dkms install), or use a precompiled one for this kernel"},
		{" Legacy drivers", "this branch no longer supports the GPU: set gpu.branch: 580, the last one for GPUs before Turing"},
		{"already bound to nouveau", "nouveau uses the GPU: reboot this host; airgap has blocked nouveau from the next boot on"},
		{"No NVIDIA devices probed", "another driver uses the GPUs: find it with lspci -k -d 10de:"},
		{"No NVIDIA GPU found", "the module finds no GPU: check the PCI bus with lspci -k -d 10de:; another driver may use the GPU"},
		{"API mismatch", "this host has two versions of the driver: remove one of them and reboot"},
		{"not supported by open", "this GPU requires the proprietary module: set gpu.flavour: proprietary"},
		{"requires use of the NVIDIA open kernel modules", "this GPU requires the open module: set gpu.flavour: open"},
		{"fallen off the bus", "the GPU does not answer: power the server off and on, and check the GPU's slot and power cable"},
	} {
		if strings.Contains(text, known.words) {
			return known.next
		}
	}
	return ""
}

const secureBoot = "the kernel does not trust the signature of the module. Use a module with a trusted signature. With Secure Boot you can also enrol the key: mokutil --import /var/lib/dkms/mok.pub, then confirm at the console of the next boot. Without Secure Boot, remove module.sig_enforce and lockdown from the kernel's command line"
