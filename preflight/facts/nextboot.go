package facts

import (
	"context"
	"slices"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nextboot"
)

// NextBootLimit is the time in which each probe of GatherNextBoot must answer.
const NextBootLimit = 30 * time.Second

// nextBootProbes are the facts about the next boot, and the present ones that they are compared with.
func nextBootProbes() []probe {
	names := []string{
		"os", "kernel", "nextKernel", "modules", "bootModules", "blocked", "modulesLoad", "units", "systemd", "swap", "bootSwap", "security", "bootSELinux", "bootHostname", "cgroup",
		"cpus", "memory", "filesystems", "targets", "bootMounts", "multipath", "sysctls", "tuned", "links", "filtering", "proxies", "manager", "unitFiles",
	}
	list := slices.DeleteFunc(probes(), func(p probe) bool { return !slices.Contains(names, p.fact) })
	return append(list, probe{"packages", readFewPackages})
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
	f, err := r.gather(ctx, nextBootProbes(), NextBootLimit)
	f.Surveyed = nil
	for _, p := range nextBootProbes() {
		f.Surveyed = append(f.Surveyed, p.fact)
	}
	return f, err
}

const hostMounts = "proc/1/mountinfo"

// PolicyPackage has the SELinux policy for containers.
const PolicyPackage = "container-selinux"

// readFewPackages reads the packages of which checks of the next boot use the version.
func readFewPackages(ctx context.Context, r reader, f *Facts) error {
	out, err := r.output(ctx, "rpm", "-qa", "--queryformat", rpmFormat, "NetworkManager", PolicyPackage)
	if err != nil || out == "" {
		return err
	}
	f.Packages, f.OddPackages, err = parsePackages(out)
	return err
}

// WithoutNextBoot returns the facts of a host whose next boot changes nothing: it loads all modules,
// another program mounts the file systems as they are, and systemd starts and masks no unit.
func WithoutNextBoot(f *Facts) *Facts {
	now := *f
	now.Boot, now.BootMounts, now.Kernel.Next = Boot{}, BootMounts{Container: "none"}, ""
	for _, name := range surveyedModules() {
		now.Boot.Loads = append(now.Boot.Loads, nextboot.Load{Module: name})
	}
	now.UnitFiles, now.Units, now.Sysctls = nil, nil, nil
	for _, u := range f.Units {
		now.Units = append(now.Units, Unit{Name: u.Name, State: u.State})
	}
	for _, s := range f.Sysctls {
		now.Sysctls = append(now.Sysctls, Sysctl{Name: s.Name, Value: s.Value})
	}
	return &now
}
