package preflight

import (
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var kernelConfig = Check{
	ID: "kernel-config", Title: "Kernel has the required options", Source: "kubernetes/system-validators; k0s sysinfo",
	Breaks: "kubeadm stops: a kernel without these options cannot isolate containers or enforce their limits.",
	Needs:  []string{"kernelOptions", "cgroup"}, Run: judgeKernelConfig,
}

func judgeKernelConfig(f *facts.Facts, _ *Want) Result {
	missing := func(options []string) []string {
		return slices.DeleteFunc(slices.Clone(options), func(o string) bool { return f.KernelOptions[o] != "" })
	}
	required := facts.RequiredOptions(f.Cgroup.Mode)
	const fix = "boot the distribution's kernel, which has all of them"
	if absent := missing(required); len(absent) > 0 {
		return Result{Fail, "built without " + strings.Join(absent, ", "), "all of them, built in or as modules", fix}
	}
	if absent := missing(facts.OptionalOptions()); len(absent) > 0 {
		return Result{Warn, "built without " + strings.Join(absent, ", "), "all of them, built in or as modules", fix}
	}
	return pass("all %d options are set%s", len(required)+len(facts.OptionalOptions()), withoutFeatures(f.KernelFeatures))
}

// withoutFeatures names features that only some pods and add-ons use.
func withoutFeatures(features facts.KernelFeatures) string {
	missing := features.Missing()
	if features == (facts.KernelFeatures{}) || len(missing) == 0 { // a survey of an older airgap has none
		return ""
	}
	return "; the kernel is without " + strings.Join(missing, ", ")
}
