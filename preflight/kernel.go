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
	Built   string `yaml:"built,omitempty" json:"built,omitempty"` // /proc/version: by which compiler
	Next    string `yaml:"next,omitempty" json:"next,omitempty"`   // release of the one that the boot loader is told to start; "": it was told none
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

// atLeast compares the release's version with major.minor.
func (k Kernel) atLeast(major, minor int) (bool, error) {
	var haveMajor, haveMinor int
	if _, err := fmt.Sscanf(k.Release, "%d.%d", &haveMajor, &haveMinor); err != nil {
		return false, fmt.Errorf("parse kernel release %q: %w", k.Release, err)
	}
	return haveMajor > major || haveMajor == major && haveMinor >= minor, nil
}

var kernelVersion = Check{
	ID: "kernel-version", Title: "Kernel version", Source: "kubernetes/system-validators; kubernetes#131919; runc docs/cgroup-v2.md",
	Breaks: "Kubernetes, runc and kube-proxy's nftables mode need what older kernels lack.",
	Needs:  []string{"kernel"}, Run: judgeKernelVersion,
}

func judgeKernelVersion(f *Facts, w *Want) Result {
	unmet, err := UnmetKernelNeeds(f, w)
	if err != nil {
		return Result{Status: Error, Found: err.Error(), Fix: "compare uname -r with what airgap docs kernel-version asks for; where it is new enough, --skip kernel-version"}
	}
	if len(unmet) == 0 {
		return pass("%s", f.Kernel.Release)
	}
	first := unmet[0] // those that fail come first
	return Result{first.Older, f.Kernel.Release, fmt.Sprintf("%s or newer for %s", first.From, first.For), first.fix}
}

var kernelRunning = Check{
	ID: "kernel-running", Title: "Running kernel is that of the next boot", Source: "airgap: a driver is built for the running kernel",
	Breaks: "After the next reboot another kernel runs, for which no driver has been built.",
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
	r := Result{Warn, f.Kernel.Release + " runs, " + next + " will after a reboot", "the kernel of the next boot running", "reboot before installing"}
	if w.Is(GPU) {
		r.Status = Fail // the driver would be built for a kernel that is about to go
	}
	return r
}

// NextKernel is the release, as uname -r has it, of the kernel that the host boots next:
// the boot loader's own word, else the newest installed one; "" where no RPM has one.
func (f *Facts) NextKernel() string { return cmp.Or(f.Kernel.Next, newestKernel(f)) }

// newestKernel is of the running one's kind (Oracle's UEK beside Red Hat's). A boot loader that
// was told no other one starts it.
func newestKernel(f *Facts) string {
	name := "kernel-core"
	if strings.Contains(f.Kernel.Release, "uek") {
		name = "kernel-uek-core"
	}
	return f.NewestOf(name)
}
