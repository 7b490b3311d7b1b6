package facts

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
