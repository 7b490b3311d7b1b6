package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rpmversion "github.com/knqyf263/go-rpm-version"
)

// Kernel is the running kernel.
type Kernel struct {
	Release string `yaml:"release" json:"release"` // uname -r
	Arch    string `yaml:"arch" json:"arch"`       // uname -m
	Cmdline string `yaml:"cmdline" json:"cmdline"`
}

func readKernel(ctx context.Context, r reader, f *Facts) error {
	var err error
	if f.Kernel.Release, err = r.text("proc/sys/kernel/osrelease"); err != nil {
		return err
	}
	if f.Kernel.Cmdline, err = r.text("proc/cmdline"); err != nil {
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
	ID: "kernel-version", Title: "Kernel version", Source: "kubernetes/system-validators; kubernetes#131919",
	Needs: []string{"kernel"}, Run: judgeKernelVersion,
}

func judgeKernelVersion(f *Facts, w *Want) Result {
	oldest, err := f.Kernel.atLeast(4, 18)
	if err != nil {
		return Result{Status: Error, Found: err.Error()}
	}
	el9, _ := f.Kernel.atLeast(4, 19)
	nft, _ := f.Kernel.atLeast(5, 13)
	switch {
	case !oldest:
		return Result{Fail, f.Kernel.Release, "4.18 or newer", "use Enterprise Linux 8 or newer"}
	case w.ProxyMode == "nftables" && !nft:
		return Result{Fail, f.Kernel.Release, "5.13 or newer for kube-proxy's nftables mode", "use kube-proxy's iptables mode, or Enterprise Linux 9"}
	case !el9:
		return Result{Warn, f.Kernel.Release, "newer than 4.18", "it works, with a warning by kubeadm; plan for Enterprise Linux 9 or newer"}
	default:
		return pass("%s", f.Kernel.Release)
	}
}

var kernelRunning = Check{
	ID: "kernel-running", Title: "Running kernel is the newest installed", Source: "airgap: a driver is built for the running kernel",
	Needs: []string{"kernel", "packages"}, Run: judgeKernelRunning,
}

func judgeKernelRunning(f *Facts, w *Want) Result {
	newest := newestKernel(f)
	switch {
	case newest == "":
		return skipped("no kernel is installed as an RPM")
	case newest == f.Kernel.Release || newest == strings.TrimSuffix(f.Kernel.Release, "+debug"):
		return pass("%s", f.Kernel.Release)
	}
	r := Result{Warn, f.Kernel.Release + " runs, " + newest + " will after a reboot", "the newest installed kernel running", "reboot before installing"}
	if w.Is(GPU) {
		r.Status = Fail // the driver would be built for a kernel that is about to go
	}
	return r
}

// newestKernel is the newest installed kernel of the running one's kind
// (Oracle's UEK beside Red Hat's), in the form of uname -r.
func newestKernel(f *Facts) string {
	name := "kernel-core"
	if strings.Contains(f.Kernel.Release, "uek") {
		name = "kernel-uek-core"
	}
	var kernels []Package
	for _, p := range f.Packages {
		if p.Name == name {
			kernels = append(kernels, p)
		}
	}
	if len(kernels) == 0 {
		return ""
	}
	newest := slices.MaxFunc(kernels, func(a, b Package) int {
		return rpmversion.NewVersion(a.EVR()).Compare(rpmversion.NewVersion(b.EVR()))
	})
	return newest.Version + "-" + newest.Release + "." + newest.Arch
}
