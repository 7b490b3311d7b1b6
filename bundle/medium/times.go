package medium

import (
	"fmt"
	"strings"
	"time"
)

// way is a way to the servers, with its usual speeds in bytes per second.
type way struct {
	name       string
	slow, fast int64
}

func ways() []way {
	return []way{
		{"virtual media of a BMC (iDRAC, iLO, XCC)", 2_000_000, 5_000_000},
		{"DVD", 5_000_000, 20_000_000},
		{"USB 2", 20_000_000, 35_000_000},
		{"USB 3", 80_000_000, 300_000_000},
	}
}

// Times is how long the servers read this many bytes from the usual media.
func Times(bytes int64) string {
	var all []string
	for _, w := range ways() {
		all = append(all, fmt.Sprintf("%s %s to %s", w.name, rounded(bytes, w.fast), rounded(bytes, w.slow)))
	}
	return strings.Join(all, ", ")
}

func rounded(bytes, speed int64) string {
	d := time.Duration(bytes/speed) * time.Second
	switch {
	case d < time.Minute:
		return "1 min"
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf("%d h", int(d.Round(time.Hour).Hours()))
}
