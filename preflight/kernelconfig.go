package preflight

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// requiredOptions are those without which kubeadm stops, optionalOptions those of
// which it says that they lack.
func requiredOptions(cgroup string) []string {
	required := []string{"NAMESPACES", "NET_NS", "PID_NS", "IPC_NS", "UTS_NS", "CGROUPS", "CPUSETS", "MEMCG", "CGROUP_PIDS",
		"FAIR_GROUP_SCHED", "INET", "EXT4_FS", "PROC_FS", "NETFILTER_XT_TARGET_REDIRECT", "NETFILTER_XT_MATCH_COMMENT"}
	if cgroup == "v2" {
		return append(required, "CGROUP_BPF")
	}
	return append(required, "CGROUP_CPUACCT", "CGROUP_DEVICE", "CGROUP_FREEZER", "CGROUP_SCHED")
}

func optionalOptions() []string {
	return []string{"OVERLAY_FS", "CFS_BANDWIDTH", "SECCOMP", "SECCOMP_FILTER"}
}

// readKernelOptions keeps of the running kernel's configuration what is judged:
// by the name without CONFIG_, "y" or "m".
func readKernelOptions(_ context.Context, r reader, f *Facts) error {
	release, err := r.text("proc/sys/kernel/osrelease")
	if err != nil {
		return err
	}
	config, err := readKernelConfig(r, release)
	if err != nil {
		return err
	}
	if len(config) == 0 {
		return errors.New("neither /boot, /lib/modules nor /proc/config.gz has the running kernel's configuration")
	}
	f.KernelOptions = map[string]string{}
	for _, option := range slices.Concat(requiredOptions("v1"), requiredOptions("v2"), optionalOptions()) {
		if value := config[option]; value == "y" || value == "m" {
			f.KernelOptions[option] = value
		}
	}
	return nil
}

var kernelConfig = Check{
	ID: "kernel-config", Title: "Kernel configuration", Source: "kubernetes/system-validators; k0s sysinfo",
	Breaks: "kubeadm stops: containers cannot be kept apart, or their limits not be held, by a kernel built without these.",
	Needs:  []string{"kernelOptions", "cgroup"}, Run: judgeKernelConfig,
}

func judgeKernelConfig(f *Facts, _ *Want) Result {
	lacking := func(options []string) []string {
		return slices.DeleteFunc(slices.Clone(options), func(o string) bool { return f.KernelOptions[o] != "" })
	}
	required := requiredOptions(f.Cgroup.Mode)
	const fix = "boot the distribution's own kernel: it has all of them"
	if absent := lacking(required); len(absent) > 0 {
		return Result{Fail, "built without " + strings.Join(absent, ", "), "all of them, built in or as modules", fix}
	}
	if absent := lacking(optionalOptions()); len(absent) > 0 {
		return Result{Warn, "built without " + strings.Join(absent, ", "), "all of them, built in or as modules", fix}
	}
	return pass("%d options wanted, all there", len(required)+len(optionalOptions()))
}
