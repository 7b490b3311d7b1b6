package preflight

import (
	"context"
	"errors"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/nextboot"
)

// requiredOptions are the kernel options without which kubeadm stops. Without optionalOptions it
// warns.
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

// readKernelOptions reads the options that the checks use from the running kernel's configuration:
// "y" or "m" by the name without CONFIG_.
func readKernelOptions(_ context.Context, r reader, f *Facts) error {
	release, err := r.text("proc/sys/kernel/osrelease")
	if err != nil {
		return err
	}
	config, err := nextboot.ReadKernelConfig(r.fs, release)
	if err != nil {
		return err
	}
	if len(config) == 0 {
		return errors.New("no configuration of the running kernel in /boot, /lib/modules or /proc/config.gz")
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
	ID: "kernel-config", Title: "Kernel has the required options", Source: "kubernetes/system-validators; k0s sysinfo",
	Breaks: "kubeadm stops: a kernel without these options cannot isolate containers or enforce their limits.",
	Needs:  []string{"kernelOptions", "cgroup"}, Run: judgeKernelConfig,
}

func judgeKernelConfig(f *Facts, _ *Want) Result {
	missing := func(options []string) []string {
		return slices.DeleteFunc(slices.Clone(options), func(o string) bool { return f.KernelOptions[o] != "" })
	}
	required := requiredOptions(f.Cgroup.Mode)
	const fix = "boot the distribution's kernel, which has all of them"
	if absent := missing(required); len(absent) > 0 {
		return Result{Fail, "built without " + strings.Join(absent, ", "), "all of them, built in or as modules", fix}
	}
	if absent := missing(optionalOptions()); len(absent) > 0 {
		return Result{Warn, "built without " + strings.Join(absent, ", "), "all of them, built in or as modules", fix}
	}
	return pass("all %d options are set", len(required)+len(optionalOptions()))
}
