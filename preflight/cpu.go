package preflight

import (
	"fmt"
	"strconv"

	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/facts"
)

var cpuFail = Limit{
	Check: "cpu-count", Name: "fail", Unit: Count, Default: byControlPlane(2, 0),
	About: "Least number of CPUs of a node. Default 2 on control-plane nodes, none on others.",
}

var cpuWarn = Limit{
	Check: "cpu-count", Name: "warn", Unit: Count, Default: byControlPlane(4, 2),
	About: "Number of CPUs below which the check warns. Default 4 on control-plane nodes, 2 on others.",
}

var cpuCount = Check{
	ID: "cpu-count", Title: "Host has enough CPUs", Source: "kubeadm NumCPU",
	Breaks: "kubeadm refuses a control plane on one CPU: etcd is too slow there.",
	Limits: []Limit{cpuFail, cpuWarn}, Needs: []string{"cpus", "kernel", "nextKernel"}, Run: judgeCPUs,
}

func judgeCPUs(f *facts.Facts, w *Want) Result {
	least, enough := w.limit(cpuFail), w.limit(cpuWarn)
	have, why := usableCPUs(f)
	found, fix := strconv.Itoa(have), "give the machine more CPUs"
	if why != "" {
		found, fix = fmt.Sprintf("%d of %d: %s", have, f.CPUs, why), fix+", or remove the parameter from the kernel command line"
	}
	switch {
	case int64(have) < least:
		return Result{Fail, found, fmt.Sprintf("%d or more", least), fix}
	case int64(have) < enough:
		return Result{Warn, found, fmt.Sprintf("%d or more", enough), fix}
	default:
		return pass("%s", found)
	}
}

// usableCPUs is the number of CPUs on which pods run, now or at the next boot, whichever is less,
// and the parameter that keeps pods from the others.
func usableCPUs(f *facts.Facts) (n int, why string) {
	next, from := f.NextCmdline()
	n, why = nextboot.UsableCPUs(f.Kernel.Cmdline, f.CPUs)
	if later, parameter := nextboot.UsableCPUs(next, f.CPUs); later < n {
		return later, parameter + " in " + from
	}
	if why != "" {
		why += " in /proc/cmdline"
	}
	return n, why
}
