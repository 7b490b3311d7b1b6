package preflight

import (
	"fmt"

	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/preflight/facts"
)

var cpuLevel = Check{
	ID: "cpu-level", Title: "CPU has the required instruction set", Source: "replicatedhq/embedded-cluster; x86-64 psABI, microarchitecture levels",
	Breaks: "Programs in images and in Enterprise Linux crash with an illegal instruction, some of them only later.",
	Needs:  []string{"cpuLevel", "kernel", "os"}, Run: judgeCPULevel,
}

func judgeCPULevel(f *facts.Facts, _ *Want) Result {
	const anySystem = 2
	least := max(anySystem, enterprise.Of(f.OS.Enterprise()).CPULevel)
	switch {
	case f.CPULevel == 0:
		return skipped("not an x86 CPU")
	case f.CPULevel < least:
		return Result{Fail, fmt.Sprintf("x86-64-v%d", f.CPULevel), fmt.Sprintf("x86-64-v%d", least),
			"set a newer CPU model in the hypervisor (vSphere: the cluster's EVC mode; QEMU: cpu host), or use newer hardware"}
	default:
		return pass("x86-64-v%d", f.CPULevel)
	}
}
