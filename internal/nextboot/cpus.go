package nextboot

import (
	"strconv"
	"strings"
)

// UsableCPUs is the number of CPUs on which pods run, of those that are online, and the parameter that
// keeps pods from the others.
func UsableCPUs(cmdline string, online int) (n int, why string) {
	n = online
	for _, name := range []string{"isolcpus", "nohz_full"} {
		p := Last(cmdline, name)
		if left := online - isolated(p, online); left < n {
			n, why = left, p.Text
		}
	}
	for _, name := range []string{"maxcpus", "nr_cpus"} {
		p := Last(cmdline, name)
		if most, err := strconv.Atoi(p.Value); err == nil && max(most, 1) < n {
			n, why = max(most, 1), p.Text
		}
	}
	return n, why
}

// isolated counts the CPUs of isolcpus= or nohz_full=. With flags, isolcpus isolates only if domain
// is among them.
func isolated(p Parameter, cpus int) int {
	flags, list := false, map[int]bool{}
	domain := false
	for part := range strings.SplitSeq(p.Value, ",") {
		switch part {
		case "domain":
			domain = true
		case "nohz", "managed_irq":
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
