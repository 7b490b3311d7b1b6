package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/facts"
)

var cgroupVersion = Check{
	ID: "cgroup-version", Title: "cgroup v2 is in use", Source: "kubernetes#134744, KEP-5573",
	Breaks: "From Kubernetes 1.35 on, the kubelet does not start on cgroup v1 unless it is configured to.",
	Needs:  []string{"cgroup", "os", "kernel", "nextKernel"}, Run: judgeCgroupVersion,
}

func judgeCgroupVersion(f *facts.Facts, w *Want) Result {
	next, why := nextCgroup(f)
	if f.Cgroup.Mode == "v2" && next != "v1" {
		return pass("v2")
	}
	boot := "run grubby --update-kernel=ALL --args=systemd.unified_cgroup_hierarchy=1, then reboot"
	found := f.Cgroup.Mode
	switch {
	case found == "v2":
		found = "v2 now, v1 after the next boot: " + why
	case next == "v2" && found != "":
		found += " now, v2 after the next boot: " + why
		boot = w.reboot()
	}
	r := Result{Fail, found, "v2", boot + "; or allow cgroup v1 with failCgroupV1: false in kubernetes.overrides.kubelet"}
	switch {
	case f.Cgroup.Mode == "":
		r.Found, r.Fix = "no cgroups are mounted", "boot with systemd"
	case w.AllowCgroupV1:
		r.Status, r.Fix = Warn, boot+", before Kubernetes drops cgroup v1; failCgroupV1: false allows it for now"
	case minor(w.KubernetesVersion) < 35:
		r.Status = Warn
	}
	return r
}

// minor is 36 for "v1.36.3". An unreadable version counts as the newest one, so that the
// strictest rules apply.
func minor(version string) int {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return 999
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		return 999
	}
	return n
}

var cgroupControllers = Check{
	ID: "cgroup-controllers", Title: "Required cgroup controllers are enabled", Source: "kubernetes/system-validators",
	Breaks: "Without one of these controllers the kubelet cannot enforce pod limits, and does not start.",
	Needs:  []string{"cgroup", "kernel", "nextKernel"}, Run: judgeControllers,
}

func judgeControllers(f *facts.Facts, _ *Want) Result {
	needed := []string{"cpu", "cpuset", "memory", "pids"}
	if f.Cgroup.Mode != "v2" { // v2 needs no controller to freeze processes
		needed = append(needed, "freezer")
	}
	var missing []string
	for _, name := range needed {
		if !slices.Contains(f.Cgroup.Controllers, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return Result{Fail, "missing: " + strings.Join(missing, ", "), strings.Join(needed, ", "),
			"remove cgroup_disable= from the kernel's command line, then reboot"}
	}
	cmdline, from := f.NextCmdline()
	mode, _ := nextCgroup(f)
	for _, name := range nextboot.DisabledControllers(cmdline, cmp.Or(mode, f.Cgroup.Mode)) {
		if slices.Contains(needed, name) {
			return Result{Fail, "disabled after the next boot: " + name + " (cgroup_disable or cgroup_no_v1 in " + from + ")", strings.Join(needed, ", "), bootFix("cgroup_disable")}
		}
	}
	return pass("%s", strings.Join(needed, ", "))
}

var cgroupDriver = Check{
	ID: "cgroup-driver", Title: "Runtime and kubelet use one cgroup driver", Source: "runtime and kubelet: one driver, systemd's under systemd",
	Breaks: "Two managers of one cgroup tree move each other's processes: pods die under load, weeks later.",
	Needs:  []string{"init", "cgroup"}, Run: judgeCgroupDriver,
}

// judgeCgroupDriver only warns. Before an installation the existing drivers do not matter, and
// after it the next run of airgap install restores the driver.
func judgeCgroupDriver(f *facts.Facts, w *Want) Result {
	driver := "cgroupfs"
	if f.Init == "systemd" {
		driver = "systemd"
	}
	if !w.Managed {
		return pass("%s, for the runtime and the kubelet", driver)
	}
	for _, set := range []struct{ name, driver string }{{"containerd", f.Cgroup.ContainerdDriver}, {"the kubelet", f.Cgroup.KubeletDriver}} {
		if w.CRIO && set.name == "containerd" {
			continue // left over from another runtime
		}
		if set.driver != "" && set.driver != driver {
			return Result{Warn, fmt.Sprintf("%s uses %s", set.name, set.driver), driver + " for both",
				"run airgap install or airgap join again, which rewrites the configuration; then drain and reboot this host, to restart the pods that use the other driver"}
		}
	}
	return pass("%s", driver)
}
