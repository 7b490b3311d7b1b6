package facts

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

// AtLeast reports whether the release is major.minor or newer.
func (k Kernel) AtLeast(major, minor int) (bool, error) {
	var haveMajor, haveMinor int
	if _, err := fmt.Sscanf(k.Release, "%d.%d", &haveMajor, &haveMinor); err != nil {
		return false, fmt.Errorf("parse kernel release %q: %w", k.Release, err)
	}
	return haveMajor > major || haveMajor == major && haveMinor >= minor, nil
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
