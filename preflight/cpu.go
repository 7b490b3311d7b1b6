package preflight

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/nextboot"
)

func readCPUs(_ context.Context, r reader, f *Facts) error {
	text, err := r.text("sys/devices/system/cpu/online")
	if err != nil {
		return err
	}
	f.CPUs, err = countCPUs(text)
	return err
}

// countCPUs counts the CPUs in a list of ranges: 5 in "0-3,6".
func countCPUs(list string) (int, error) {
	total := 0
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, errFrom := strconv.ParseUint(first, 10, 16)
		to, errTo := strconv.ParseUint(last, 10, 16)
		if errFrom != nil || errTo != nil || to < from {
			return 0, fmt.Errorf("parse list of CPUs %q", list)
		}
		total += int(to-from) + 1
	}
	return total, nil
}

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

func judgeCPUs(f *Facts, w *Want) Result {
	least, enough := w.limit(cpuFail), w.limit(cpuWarn)
	have, why := f.usableCPUs()
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
func (f *Facts) usableCPUs() (n int, why string) {
	n = f.CPUs
	next, from := f.nextCmdline()
	for _, of := range []struct{ cmdline, from string }{{f.Kernel.Cmdline, "/proc/cmdline"}, {next, from}} {
		for _, name := range []string{"isolcpus", "nohz_full"} {
			p := nextboot.Last(of.cmdline, name)
			if left := f.CPUs - isolated(p, f.CPUs); left < n {
				n, why = left, p.Text+" in "+of.from
			}
		}
		for _, name := range []string{"maxcpus", "nr_cpus"} {
			p := nextboot.Last(of.cmdline, name)
			if most, err := strconv.Atoi(p.Value); err == nil && max(most, 1) < n {
				n, why = max(most, 1), p.Text+" in "+of.from
			}
		}
	}
	return n, why
}

// isolated counts the CPUs of isolcpus= or nohz_full=. With flags, isolcpus isolates only if domain
// is among them.
func isolated(p nextboot.Parameter, cpus int) int {
	flags, list := false, map[int]bool{}
	domain := false
	for part := range strings.SplitSeq(p.Value, ",") {
		switch {
		case part == "domain":
			domain = true
		case part == "nohz" || part == "managed_irq":
			flags = true
		default:
			addCPUs(list, part, cpus)
		}
	}
	if flags && !domain {
		return 0
	}
	return len(list)
}

// addCPUs adds a range of the kernel's: "2-7", "2-N", "all", "0-31:2/4". Other text adds none.
func addCPUs(list map[int]bool, part string, cpus int) {
	part, groups, _ := strings.Cut(part, ":")
	used, size := 1, 1
	if a, b, is := strings.Cut(groups, "/"); is {
		used, _ = strconv.Atoi(a)
		size, _ = strconv.Atoi(b)
	}
	if part == "all" {
		part = "0-N"
	}
	first, last, isRange := strings.Cut(part, "-")
	if !isRange {
		last = first
	}
	number := func(text string) int {
		if text == "N" {
			return cpus - 1
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return -1
		}
		return n
	}
	from, to := number(first), min(number(last), cpus-1)
	if from < 0 || size < 1 {
		return
	}
	for i := from; i <= to; i++ {
		if (i-from)%size < used {
			list[i] = true
		}
	}
}
