package facts

import (
	"context"
	"slices"
	"time"

	"airgap.dev/airgap/internal/host"
)

// NextBootLimit is the time in which each probe of GatherNextBoot must answer.
const NextBootLimit = 30 * time.Second

// nextBootProbes are the facts about the next boot, and the present ones that they are compared with.
func nextBootProbes() []probe {
	names := []string{
		"os", "kernel", "nextKernel", "modules", "bootModules", "blocked", "systemd", "swap", "bootSwap", "security", "bootSELinux", "bootHostname", "cgroup",
		"cpus", "memory", "filesystems", "targets", "bootMounts", "sysctls", "tuned", "links",
	}
	list := slices.DeleteFunc(probes(), func(p probe) bool { return !slices.Contains(names, p.fact) })
	return append(list, probe{"packages", readPolicyPackage})
}

// GatherNextBoot reads the facts for the checks of the next boot only: a service that watches a node
// must not use the time and the memory for all packages of the host.
func GatherNextBoot(ctx context.Context, h host.Host) (*Facts, error) {
	r := reader{host: h, fs: h.FS()}
	// systemd gives a service mounts of its own, such as an empty file system over /home. Process 1 has
	// those of the host.
	if r.exists(hostMounts) {
		r.mountinfo = hostMounts
	}
	return r.gather(ctx, nextBootProbes(), NextBootLimit)
}

const hostMounts = "proc/1/mountinfo"

// PolicyPackage has the SELinux policy for containers.
const PolicyPackage = "container-selinux"

func readPolicyPackage(ctx context.Context, r reader, f *Facts) error {
	out, err := r.output(ctx, "rpm", "-qa", "--queryformat", rpmFormat, PolicyPackage)
	if err != nil || out == "" {
		return err
	}
	f.Packages, f.OddPackages, err = parsePackages(out)
	return err
}

// WithoutNextBoot returns the facts of a host whose next boot changes nothing.
func WithoutNextBoot(f *Facts) *Facts {
	now := *f
	now.Boot, now.BootMounts, now.Kernel.Next = Boot{}, BootMounts{}, ""
	now.Surveyed = slices.DeleteFunc(slices.Clone(f.Surveyed), func(name string) bool { return name == "bootMounts" })
	now.Sysctls = nil
	for _, s := range f.Sysctls {
		now.Sysctls = append(now.Sysctls, Sysctl{Name: s.Name, Value: s.Value})
	}
	return &now
}
