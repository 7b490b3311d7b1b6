package preflight

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/preflight/facts"
)

// KernelNeed is the oldest kernel that a feature works with.
type KernelNeed struct {
	For     string `json:"for"`
	From    string `json:"from"`  // "5.13"
	Older   Status `json:"older"` // status with an older kernel: fail, or warn if it works unsupported
	Source  string `json:"source"`
	fix     string
	applies func(*facts.Facts, *Want) bool
}

// KernelNeeds lists the needs of Kubernetes and of every pod network, failures first.
func KernelNeeds() []KernelNeed {
	always := func(*facts.Facts, *Want) bool { return true }
	needs := []KernelNeed{
		{"Kubernetes", "4.18", Fail, "kubernetes/system-validators", "use Enterprise Linux 8 or newer", always},
		{
			"kube-proxy's nftables mode", "5.13", Fail, "Kubernetes: virtual IPs and service proxies, nftables proxy mode",
			"use kube-proxy's iptables mode, or Enterprise Linux 9", func(_ *facts.Facts, w *Want) bool { return w.ProxyMode == "nftables" },
		},
	}
	for _, n := range cni.AllNeeds() {
		if n.Kernel != "" {
			needs = append(needs, kernelNeed(n))
		}
	}
	return append(needs, []KernelNeed{
		{
			"Kubernetes without a warning", "4.19", Warn, "kubernetes#131919: kubeadm from 1.34 on warns",
			"no action is needed now: it works, and kubeadm warns; plan the move to Enterprise Linux 9 or newer", always,
		},
		{
			"cgroup v2 under runc", "5.2", Warn, "runc: docs/cgroup-v2.md",
			"no action is needed now: it works from 4.15 on, and runc recommends 5.2; plan the move to Enterprise Linux 9 or newer", func(f *facts.Facts, _ *Want) bool { return f.Cgroup.Mode == "v2" },
		},
	}...)
}

// kernelNeed is the need of a pod network. Later minor versions of a release have the required
// features backported to their older kernel.
func kernelNeed(n cni.Needs) KernelNeed {
	name := strings.ToUpper(n.Plugin[:1]) + n.Plugin[1:]
	return KernelNeed{name, n.Kernel, Fail, n.KernelSource, n.KernelFix, func(f *facts.Facts, w *Want) bool {
		minor, has := n.KernelFrom[enterprise.Of(f.OS.Enterprise()).Major()]
		return w.Network.Plugin == n.Plugin && (!has || !f.OS.AtLeast(minor))
	}}
}

// UnmetKernelNeeds lists the needs that the kernel is too old for, in the order of KernelNeeds.
// The error is about an unreadable kernel version.
func UnmetKernelNeeds(f *facts.Facts, w *Want) ([]KernelNeed, error) {
	var unmet []KernelNeed
	for _, need := range KernelNeeds() {
		var major, minor int
		if _, err := fmt.Sscanf(need.From, "%d.%d", &major, &minor); err != nil {
			return nil, fmt.Errorf("parse kernel version %q: %w", need.From, err)
		}
		met, err := f.Kernel.AtLeast(major, minor)
		if err != nil {
			return nil, err
		}
		if !met && need.applies(f, w) {
			unmet = append(unmet, need)
		}
	}
	return unmet, nil
}
