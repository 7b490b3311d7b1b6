package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/enterprise"
)

var cpuLevel = Check{
	ID: "cpu-level", Title: "CPU has the required instruction set", Source: "replicatedhq/embedded-cluster; x86-64 psABI, microarchitecture levels",
	Breaks: "Programs in images and in Enterprise Linux crash with an illegal instruction, some of them only later.",
	Needs:  []string{"cpuLevel", "kernel", "os"}, Run: judgeCPULevel,
}

// levelFlags has the flags in /proc/cpuinfo that each level adds. Every 64-bit x86 CPU has level 1.
func levelFlags() map[int][]string {
	return map[int][]string{
		2: {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"},
		3: {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"},
		4: {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
	}
}

// readCPULevel leaves 0 for a CPU that is not x86, which has no such levels.
func readCPULevel(_ context.Context, r reader, f *Facts) error {
	lines, err := r.lines("proc/cpuinfo")
	if err != nil {
		return err
	}
	for _, line := range lines {
		if name, flags, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "flags" {
			f.CPULevel = cpuLevelOf(strings.Fields(flags))
			return nil
		}
	}
	return nil
}

func cpuLevelOf(flags []string) int {
	level := 1
	for next := 2; next <= 4; next++ {
		for _, flag := range levelFlags()[next] {
			if !slices.Contains(flags, flag) {
				return level
			}
		}
		level = next
	}
	return level
}

func judgeCPULevel(f *Facts, _ *Want) Result {
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
