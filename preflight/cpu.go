package preflight

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

func readCPUs(_ context.Context, r reader, f *Facts) error {
	text, err := r.text("sys/devices/system/cpu/online")
	if err != nil {
		return err
	}
	f.CPUs, err = countCPUs(text)
	return err
}

// countCPUs counts a list of ranges: "0-3,6" are 5.
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
			return 0, fmt.Errorf("parse list of processors %q", list)
		}
		total += int(to-from) + 1
	}
	return total, nil
}

var cpuCount = Check{
	ID: "cpu-count", Title: "Processors", Source: "kubeadm NumCPU",
	Needs: []string{"cpus"}, Run: judgeCPUs,
}

func judgeCPUs(f *Facts, w *Want) Result {
	limits := w.limits()
	switch {
	case f.CPUs < limits.CPUFail && w.Is(ControlPlane):
		return Result{Fail, strconv.Itoa(f.CPUs), fmt.Sprintf("%d or more", limits.CPUFail), "give the machine more processors"}
	case f.CPUs < limits.CPUWarn:
		return Result{Warn, strconv.Itoa(f.CPUs), fmt.Sprintf("%d or more", limits.CPUWarn), "give the machine more processors"}
	default:
		return pass("%d", f.CPUs)
	}
}
