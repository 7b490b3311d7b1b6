package preflight

import (
	"fmt"
)

// KernelNeed is the oldest kernel that something works with.
type KernelNeed struct {
	For     string `json:"for"`
	From    string `json:"from"`  // "5.13"
	Older   Status `json:"older"` // what an older kernel is: fail, or warn where it works unsupported
	Source  string `json:"source"`
	fix     string
	applies func(*Facts, *Want) bool
}

// KernelNeeds lists them, those that fail first.
func KernelNeeds() []KernelNeed {
	always := func(*Facts, *Want) bool { return true }
	return []KernelNeed{
		{"Kubernetes", "4.18", Fail, "kubernetes/system-validators", "use Enterprise Linux 8 or newer", always},
		{
			"kube-proxy's nftables mode", "5.13", Fail, "Kubernetes: virtual IPs and service proxies, nftables proxy mode",
			"use kube-proxy's iptables mode, or Enterprise Linux 9", func(_ *Facts, w *Want) bool { return w.ProxyMode == "nftables" },
		},
		{
			"Cilium", "5.10", Fail, "Cilium: system requirements (5.10, or 4.18 of RHEL 8.10, which has what it needs from newer ones)",
			"set network.plugin to calico or flannel, or use Enterprise Linux 8.10 or 9", func(f *Facts, w *Want) bool { return w.NetworkPlugin == "cilium" && !f.OS.atLeast(8, 10) },
		},
		{
			"Kubernetes without a warning", "4.19", Warn, "kubernetes#131919: kubeadm from 1.34 on warns",
			"it works, with a warning by kubeadm; plan for Enterprise Linux 9 or newer", always,
		},
		{
			"cgroup v2 under runc", "5.2", Warn, "runc: docs/cgroup-v2.md",
			"it works from 4.15 on, and runc recommends 5.2; plan for Enterprise Linux 9 or newer", func(f *Facts, _ *Want) bool { return f.Cgroup.Mode == "v2" },
		},
	}
}

// UnmetKernelNeeds are those of the needs that the kernel is too old for, in
// their order. The error is about a kernel whose version cannot be read.
func UnmetKernelNeeds(f *Facts, w *Want) ([]KernelNeed, error) {
	var unmet []KernelNeed
	for _, need := range KernelNeeds() {
		var major, minor int
		if _, err := fmt.Sscanf(need.From, "%d.%d", &major, &minor); err != nil {
			return nil, fmt.Errorf("parse kernel version %q: %w", need.From, err)
		}
		met, err := f.Kernel.atLeast(major, minor)
		if err != nil {
			return nil, err
		}
		if !met && need.applies(f, w) {
			unmet = append(unmet, need)
		}
	}
	return unmet, nil
}
