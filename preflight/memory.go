package preflight

import (
	"fmt"

	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/facts"
)

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
	Limits: []Limit{memoryFail, memoryWarn}, Needs: []string{"memory", "sysctls", "nextKernel"}, Run: judgeMemory,
}

func judgeMemory(f *facts.Facts, w *Want) Result {
	least, enough := w.limit(memoryFail), w.limit(memoryWarn)
	have, why := usableMemory(f)
	fix := "give the machine more memory"
	if why != "" {
		why, fix = "; "+ui.Size(f.Memory)+" without "+why, fix+", or reserve less"
	}
	switch {
	case have < least:
		// In the unit of the limit, because both values could be printed as 1.8 GB.
		return Result{Fail, fmt.Sprintf("%d MiB", have/mebibyte) + why, fmt.Sprintf("%d MiB or more", least/mebibyte), fix}
	// Firmware and kernel reserve up to 10% of the memory: a machine with 8 GB must not cause the
	// warning for smaller machines.
	case have < enough*9/10:
		return Result{Warn, ui.Size(have) + why, ui.Size(enough), fix + ", or keep its load small"}
	default:
		return pass("%s", ui.Size(have)+why)
	}
}

// usableMemory is the memory for programs that do not ask for huge pages, now or after the next
// boot, whichever is less, and the reason if it is not all.
func usableMemory(f *facts.Facts) (n int64, why string) {
	n = f.Memory
	if f.HugePages.Reserved > 0 {
		n, why = max(0, f.Memory-f.HugePages.Reserved), ui.Size(f.HugePages.Reserved)+" of huge pages (/proc/meminfo)"
	}
	next, from := f.NextCmdline()
	pages := nextboot.HugePages(next, f.HugePages.Size)
	for _, name := range []string{"vm.nr_hugepages", "vm.nr_hugepages_mempolicy"} { // the same pages
		if s := f.Sysctl(name); s.Boot != "" {
			pages.Set(s.Boot, fmt.Sprintf("%s = %s in %s", s.Name, s.Boot, s.File))
		}
	}
	if reserved, source := pages.Bytes(from); reserved > f.HugePages.Reserved {
		n, why = max(0, f.Memory-reserved), ui.Size(reserved)+" of huge pages after the next boot ("+source+")"
	}
	if p := nextboot.Last(next, "mem"); p.Name != "" {
		if most, ok := nextboot.Bytes(p.Value); ok && most < n {
			n, why = most, "the limit "+p.Text+" in "+from
		}
	}
	return n, why
}
