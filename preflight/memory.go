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
	return fmt.Errorf("read /proc/meminfo: no MemTotal in it")
}

// mebibyte is what kubeadm counts memory in.
const mebibyte = 1024 * 1024

var memoryFail = Limit{
	Check: "memory", Name: "fail", Unit: Bytes, Default: byControlPlane(1700*mebibyte, 0),
	About: "Least memory of a node. Default 1700MiB on control-plane nodes, none on others.",
}

var memoryWarn = Limit{
	Check: "memory", Name: "warn", Unit: Bytes, Default: byControlPlane(8*gigabyte, 4*gigabyte),
	About: "Memory below which, less a tenth, there is a warning. Default 8GB on control-plane nodes, 4GB on others.",
}

var memory = Check{
	ID: "memory", Title: "Memory", Source: "kubeadm Mem",
	Breaks: "Where memory is short the kernel kills etcd or the API server first, since they have most of it.",
	Limits: []Limit{memoryFail, memoryWarn}, Needs: []string{"memory"}, Run: judgeMemory,
}

func judgeMemory(f *Facts, w *Want) Result {
	least, enough := w.limit(memoryFail), w.limit(memoryWarn)
	switch {
	case f.Memory < least:
		// In the unit of the limit, or both might read 1.8 GB.
		return Result{Fail, fmt.Sprintf("%d MiB", f.Memory/mebibyte), fmt.Sprintf("%d MiB or more", least/mebibyte), "give the machine more memory"}
	// Firmware and kernel keep up to a tenth of what the hypervisor gives: a
	// machine of 8 GB must not draw the warning meant for smaller ones.
	case f.Memory < enough*9/10:
		return Result{Warn, ui.Size(f.Memory), ui.Size(enough), "give the machine more memory, or keep its load small"}
	default:
		return pass("%s", ui.Size(f.Memory))
	}
}
