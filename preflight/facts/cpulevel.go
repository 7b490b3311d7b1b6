package facts

import (
	"context"
	"slices"
	"strings"
)

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
