package facts

import "slices"

// firstSurveyed are the facts of a survey without a list. The meaning of audit has grown since.
func firstSurveyed() []string {
	return []string{
		"os", "kernel", "nextKernel", "modules", "init", "kernelOptions", "secureBoot", "systemd", "manager", "cgroup", "cpus", "cpuLevel", "memory", "swap",
		"identity", "now", "synchronized", "timeServers", "filesystems", "xfs", "diskErrors", "links", "routes", "listening", "resolv", "hosts", "sysctls",
		"filtering", "dropChains", "iptables", "proxies", "tuned", "security", "units", "umask", "runtimes", "leftovers", "certificates",
		"pci", "runfile", "tools", "frozen", "packages", "brought", "streams",
	}
}

// NotSurveyed returns the given facts that nobody asked the host for: its survey is from an older
// airgap.
func (f *Facts) NotSurveyed(names ...string) []string {
	if len(f.Surveyed) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(f.Surveyed, name) })
}
