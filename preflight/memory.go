package preflight

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/ui"
)

func readMemory(_ context.Context, r reader, f *Facts) error {
	lines, err := r.lines("proc/meminfo")
	if err != nil {
		return err
	}
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "MemTotal:" {
			continue
		}
		kib, err := strconv.ParseInt(words[1], 10, 53)
		f.Memory = kib * 1024
		return err
	}
	return fmt.Errorf("read /proc/meminfo: MemTotal is missing")
}

// mebibyte is kubeadm's unit for memory.
const mebibyte = 1024 * 1024

var memoryFail = Limit{
	Check: "memory", Name: "fail", Unit: Bytes, Default: byControlPlane(1700*mebibyte, 0),
	About: "Least memory of a node. Default 1700MiB on control-plane nodes, none on others.",
}

var memoryWarn = Limit{
	Check: "memory", Name: "warn", Unit: Bytes, Default: byControlPlane(8*gigabyte, 4*gigabyte),
	About: "Memory below which the check warns, with a tolerance of 10%. Default 8GB on control-plane nodes, 4GB on others.",
}

var memory = Check{
	ID: "memory", Title: "Host has enough memory", Source: "kubeadm Mem",
	Breaks: "When memory runs out, the kernel kills etcd or the API server first, because they use the most.",
	Limits: []Limit{memoryFail, memoryWarn}, Needs: []string{"memory"}, Run: judgeMemory,
}

func judgeMemory(f *Facts, w *Want) Result {
	least, enough := w.limit(memoryFail), w.limit(memoryWarn)
	switch {
	case f.Memory < least:
		// In the unit of the limit, because both values could be printed as 1.8 GB.
		return Result{Fail, fmt.Sprintf("%d MiB", f.Memory/mebibyte), fmt.Sprintf("%d MiB or more", least/mebibyte), "give the machine more memory"}
	// Firmware and kernel reserve up to 10% of the memory: a machine with 8 GB must not cause the
	// warning for smaller machines.
	case f.Memory < enough*9/10:
		return Result{Warn, ui.Size(f.Memory), ui.Size(enough), "give the machine more memory, or keep its load small"}
	default:
		return pass("%s", ui.Size(f.Memory))
	}
}
