package preflight

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var kernelVersion = Check{
	ID: "kernel-version", Title: "Kernel is new enough", Source: "kubernetes/system-validators; kubernetes#131919; runc docs/cgroup-v2.md",
	Breaks: "Kubernetes, runc and kube-proxy's nftables mode require features that older kernels do not have.",
	Needs:  []string{"kernel", "cgroup"}, Run: judgeKernelVersion,
}

func judgeKernelVersion(f *facts.Facts, w *Want) Result {
	unmet, err := UnmetKernelNeeds(f, w)
	if err != nil {
		return Result{Status: Error, Found: err.Error(), Fix: "compare uname -r with the versions in airgap docs kernel-version; if the kernel is new enough, run with --skip kernel-version"}
	}
	if len(unmet) == 0 {
		return pass("%s", f.Kernel.Release)
	}
	first := unmet[0] // failures are first
	return Result{first.Older, f.Kernel.Release, fmt.Sprintf("%s or newer for %s", first.From, first.For), first.fix}
}

var kernelRunning = Check{
	ID: "kernel-running", Title: "Running kernel is the kernel of the next boot", Source: "airgap: drivers are built for the running kernel",
	Breaks: "After the next reboot another kernel runs, and no driver is built for it.",
	Needs:  []string{"kernel", "packages"}, Run: judgeKernelRunning,
}

func judgeKernelRunning(f *facts.Facts, w *Want) Result {
	next := f.NextKernel()
	switch {
	case next == "":
		return skipped("no kernel is installed as an RPM")
	case next == f.Kernel.Release || next == strings.TrimSuffix(f.Kernel.Release, "+debug"):
		return pass("%s", f.Kernel.Release)
	}
	r := Result{Warn, f.Kernel.Release + " is running, and the next boot starts " + next, "the kernel of the next boot", "reboot before the installation"}
	if w.HasRole(GPU) {
		r.Status = Fail // the driver would be built for the old kernel
	}
	return r
}
