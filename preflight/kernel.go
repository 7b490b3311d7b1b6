package preflight

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// Kernel is the running kernel.
type Kernel struct {
	Release string `yaml:"release" json:"release"` // uname -r
	Arch    string `yaml:"arch" json:"arch"`       // uname -m
	Cmdline string `yaml:"cmdline" json:"cmdline"`
	Built   string `yaml:"built,omitempty" json:"built,omitempty"` // /proc/version, with the compiler
	Next    string `yaml:"next,omitempty" json:"next,omitempty"`   // release of the boot loader's default entry; "" if none is set
}

func readKernel(ctx context.Context, r reader, f *Facts) error {
	var err error
	if f.Kernel.Release, err = r.text("proc/sys/kernel/osrelease"); err != nil {
		return err
	}
	if f.Kernel.Cmdline, err = r.text("proc/cmdline"); err != nil {
		return err
	}
	if f.Kernel.Built, err = r.optional("proc/version"); err != nil {
		return err
	}
	if f.Host, err = r.text("proc/sys/kernel/hostname"); err != nil {
		return err
	}
	arch, err := r.output(ctx, "uname", "-m")
	f.Kernel.Arch = strings.TrimSpace(arch)
	return err
}

// atLeast reports whether the release is major.minor or newer.
func (k Kernel) atLeast(major, minor int) (bool, error) {
	var haveMajor, haveMinor int
	if _, err := fmt.Sscanf(k.Release, "%d.%d", &haveMajor, &haveMinor); err != nil {
		return false, fmt.Errorf("parse kernel release %q: %w", k.Release, err)
	}
	return haveMajor > major || haveMajor == major && haveMinor >= minor, nil
}

var kernelVersion = Check{
	ID: "kernel-version", Title: "Kernel is new enough", Source: "kubernetes/system-validators; kubernetes#131919; runc docs/cgroup-v2.md",
	Breaks: "Kubernetes, runc and kube-proxy's nftables mode require features that older kernels do not have.",
	Needs:  []string{"kernel"}, Run: judgeKernelVersion,
}

func judgeKernelVersion(f *Facts, w *Want) Result {
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

func judgeKernelRunning(f *Facts, w *Want) Result {
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

// NextKernel is the release, as in uname -r, of the kernel that the host boots next: the boot
// loader's default entry, else the newest installed kernel; "" without a kernel RPM.
func (f *Facts) NextKernel() string { return cmp.Or(f.Kernel.Next, newestKernel(f)) }

// newestKernel is the newest installed kernel of the same kind as the running one (Oracle's UEK
// or Red Hat's). The boot loader starts it by default.
func newestKernel(f *Facts) string {
	name := "kernel-core"
	if strings.Contains(f.Kernel.Release, "uek") {
		name = "kernel-uek-core"
	}
	return f.NewestOf(name)
}
