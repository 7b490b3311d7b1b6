package facts

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// HugePages are the huge pages that the kernel keeps for programs that ask for them.
type HugePages struct {
	Reserved int64 `yaml:"reserved,omitempty" json:"reserved,omitempty"` // bytes, of all sizes
	Size     int64 `yaml:"size,omitempty" json:"size,omitempty"`         // of a page of the default size
}

func readMemory(_ context.Context, r reader, f *Facts) error {
	lines, err := r.lines("proc/meminfo")
	if err != nil {
		return err
	}
	values := map[string]int64{}
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		n, err := strconv.ParseInt(words[1], 10, 53)
		if name := strings.TrimSuffix(words[0], ":"); err == nil {
			values[name] = n
		} else if name == "MemTotal" {
			return err
		}
	}
	f.Memory = values["MemTotal"] * 1024
	f.HugePages = HugePages{max(values["Hugetlb"], values["HugePages_Total"]*values["Hugepagesize"]) * 1024, values["Hugepagesize"] * 1024}
	if f.Memory == 0 {
		return fmt.Errorf("read /proc/meminfo: MemTotal is missing")
	}
	return nil
}
