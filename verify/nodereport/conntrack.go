package nodereport

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// maxStatistics is enough for 4096 CPUs, which have a line of 170 characters each.
const maxStatistics = 1 << 20

func readConntrack(fsys fs.FS) *Conntrack {
	count := number(attribute(fsys, "proc/sys/net/netfilter/nf_conntrack_count"))
	if count < 0 {
		return nil
	}
	return &Conntrack{Count: count, Max: max(0, number(attribute(fsys, "proc/sys/net/netfilter/nf_conntrack_max")))}
}

func readConntrackCounters(fsys fs.FS) ConntrackCounters {
	sum := conntrackSums(bounded(fsys, "proc/net/stat/nf_conntrack", maxStatistics))
	return ConntrackCounters{
		Received: receivedPackets(bounded(fsys, "proc/net/snmp", maxFile)),
		Invalid:  sum("invalid"), InsertFailed: sum("insert_failed"), Drop: sum("drop"), EarlyDrop: sum("early_drop"),
	}
}

// conntrackSums returns a function that adds a column of all CPUs; -1 if the text has no such column, or other text
// than the kernel writes: a line of names, and a line of hexadecimal numbers for each CPU.
func conntrackSums(text string) func(column string) int64 {
	head, rest, _ := strings.Cut(text, "\n")
	names := strings.Fields(head)
	sums := make([]int64, min(len(names), maxInterfaces))
	for line := range strings.Lines(rest) {
		fields := strings.Fields(line)
		if len(fields) != len(names) {
			return func(string) int64 { return -1 }
		}
		for i := range sums {
			n, err := strconv.ParseUint(fields[i], 16, 32)
			if err != nil {
				return func(string) int64 { return -1 }
			}
			sums[i] += int64(n) // the text has too few lines to exceed an int64
		}
	}
	return func(column string) int64 {
		if i := slices.Index(names, column); i >= 0 && i < len(sums) && rest != "" {
			return sums[i]
		}
		return -1
	}
}

// receivedPackets returns InReceives of /proc/net/snmp, which has a line of names and a line of numbers for each
// protocol.
func receivedPackets(text string) int64 {
	var names []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0] != "Ip:":
		case names == nil:
			names = fields
		default:
			if i := slices.Index(names, "InReceives"); i >= 0 && len(fields) == len(names) {
				return number(fields[i])
			}
			return -1
		}
	}
	return -1
}
