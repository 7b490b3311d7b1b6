package gpu

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// explainModule says why the kernel does not take a module: it has none for this
// kernel, Secure Boot does not know who signed it, or what the kernel log says.
func (s Setup) explainModule(ctx context.Context, module string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if missing := s.noModule(ctx); missing != nil {
		return missing
	}
	said := s.kernelSaid(ctx)
	return &Failure{What: "load kernel module " + module, Err: err, Said: said, Next: cmp.Or(nextAfter(err.Error()+said), "dmesg has all that the kernel said")}
}

// NotLoaded adds to err, that a module of this kernel is not loaded, what the kernel said of
// it since the boot, for those who may read that, and what to do then.
func (s Setup) NotLoaded(ctx context.Context, what string, err error) error {
	said := s.kernelSaid(ctx)
	return &Failure{What: what, Err: err, Said: said, Next: nextAfter(said)}
}

// kernelSaid is what the kernel log has about the driver; "" where it has nothing.
func (s Setup) kernelSaid(ctx context.Context) string {
	log, err := s.Host.Run(ctx, host.Cmd{Name: "dmesg"})
	if err != nil {
		return "" // the failure itself is told anyway
	}
	return aboutDriver(string(log))
}

// noModule is nil where the running kernel has one.
func (s Setup) noModule(ctx context.Context) error {
	running, err := s.running()
	if err != nil {
		return err
	}
	kernels, err := s.kernels("nvidia")
	if err != nil || slices.Contains(kernels, running) {
		return err
	}
	have := "no kernel has one"
	if len(kernels) > 0 {
		have = "it is there for " + strings.Join(kernels, ", ")
	}
	f := &Failure{
		What: "load kernel module nvidia", Err: fmt.Errorf("the running kernel %s has none; %s", running, have),
		Next: "boot a kernel that has it; or bring kernel-devel-" + running + " or a precompiled module for it in a new bundle",
	}
	if status, err := s.Host.Run(ctx, host.Cmd{Name: "dkms", Args: []string{"status"}}); err == nil {
		f.Said = strings.TrimSpace("dkms status: " + strings.TrimSpace(string(status)))
	}
	return f
}

// aboutDriver are the last lines of the kernel log that the module, or the kernel
// about it, has written.
func aboutDriver(log string) string {
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
	return "the kernel said last:\n" + lastLines(strings.Join(said, "\n"), 8)
}

// nextAfter knows what kernel and module have written for years; "" for anything
// else.
func nextAfter(text string) string {
	for _, known := range []struct{ words, next string }{
		{"Key was rejected by service", secureBoot},
		{"Required key not available", secureBoot},
		{"Unknown symbol", "the module is not for this kernel: have it built again (dkms install), or take a precompiled one for it"},
		{"Invalid module format", "the module is not for this kernel: have it built again (dkms install), or take a precompiled one for it"},
		{" Legacy drivers", "this branch has dropped the card: gpu.branch: 580 is the last with cards before Turing"},
		{"already bound to nouveau", "nouveau has the card: reboot, it is kept off from then on"},
		{"No NVIDIA devices probed", "another driver has the cards: lspci -k -d 10de: names it"},
		{"No NVIDIA GPU found", "the module sees no card: lspci -d 10de: shows what is on the bus; another driver may have it"},
		{"API mismatch", "two versions of the driver are mixed: remove one of them, and reboot"},
		{"not supported by open", "this card needs the proprietary module: gpu.flavour: proprietary"},
		{"requires use of the NVIDIA open kernel modules", "this card needs the open module: gpu.flavour: open"},
		{"fallen off the bus", "the card does not answer: power it off and on, look at its seat and power"},
	} {
		if strings.Contains(text, known.words) {
			return known.next
		}
	}
	return ""
}

const secureBoot = "the kernel does not know who signed the module. Take one that is signed with a known key; or, with Secure Boot, enrol the key (mokutil --import /var/lib/dkms/mok.pub, then at the console of the next boot), and without it take module.sig_enforce and lockdown off the kernel's command line"
