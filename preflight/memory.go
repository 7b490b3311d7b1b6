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

var memory = Check{
	ID: "memory", Title: "Memory", Source: "kubeadm Mem",
	Needs: []string{"memory"}, Run: judgeMemory,
}

func judgeMemory(f *Facts, w *Want) Result {
	limits := w.limits()
	// Firmware and kernel keep up to a tenth of what the hypervisor gives: a
	// machine of 8 GB must not draw the warning meant for smaller ones.
	enough := limits.MemoryWarn * 9 / 10
	switch {
	case f.Memory < limits.MemoryFail && w.Is(ControlPlane):
		return Result{Fail, ui.Size(f.Memory), ui.Size(limits.MemoryFail) + " or more", "give the machine more memory"}
	case f.Memory < enough:
		return Result{Warn, ui.Size(f.Memory), ui.Size(limits.MemoryWarn), "give the machine more memory, or keep its load small"}
	default:
		return pass("%s", ui.Size(f.Memory))
	}
}
