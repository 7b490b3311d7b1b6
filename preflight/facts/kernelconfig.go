package facts

import (
	"context"
	"errors"
	"slices"

	"airgap.dev/airgap/internal/nextboot"
)

// RequiredOptions are the kernel options without which kubeadm stops. Without optionalOptions it
// warns.
func RequiredOptions(cgroup string) []string {
	required := []string{"NAMESPACES", "NET_NS", "PID_NS", "IPC_NS", "UTS_NS", "CGROUPS", "CPUSETS", "MEMCG", "CGROUP_PIDS",
		"FAIR_GROUP_SCHED", "INET", "EXT4_FS", "PROC_FS", "NETFILTER_XT_TARGET_REDIRECT", "NETFILTER_XT_MATCH_COMMENT"}
	if cgroup == "v2" {
		return append(required, "CGROUP_BPF")
	}
	return append(required, "CGROUP_CPUACCT", "CGROUP_DEVICE", "CGROUP_FREEZER", "CGROUP_SCHED")
}

// OptionalOptions are kernel options without which some pods do not work.
func OptionalOptions() []string {
	return []string{"OVERLAY_FS", "CFS_BANDWIDTH", "SECCOMP", "SECCOMP_FILTER"}
}

// readKernelOptions reads the options that the checks use from the running kernel's configuration:
// "y" or "m" by the name without CONFIG_.
func readKernelOptions(_ context.Context, r reader, f *Facts) error {
	config, err := r.kernelConfig()
	if err != nil {
		return err
	}
	f.KernelOptions = map[string]string{}
	for _, option := range slices.Concat(RequiredOptions("v1"), RequiredOptions("v2"), OptionalOptions()) {
		if value := config[option]; value == "y" || value == "m" {
			f.KernelOptions[option] = value
		}
	}
	return nil
}

// kernelConfig returns the options of the running kernel's configuration, by the name without CONFIG_.
func (r reader) kernelConfig() (map[string]string, error) {
	release, err := r.text("proc/sys/kernel/osrelease")
	if err != nil {
		return nil, err
	}
	config, err := nextboot.ReadKernelConfig(r.fs, release)
	if err == nil && len(config) == 0 {
		err = errors.New("no configuration of the running kernel in /boot, /lib/modules or /proc/config.gz")
	}
	return config, err
}
