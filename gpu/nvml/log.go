package nvml

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"airgap.dev/airgap/internal/host"
)

// Logged has a GPU's Xid events of one number in the kernel log.
type Logged struct {
	Address string    `yaml:"address" json:"address"` // "0000:4e:00.0"
	Number  uint64    `yaml:"xid" json:"xid"`
	Times   int       `yaml:"times" json:"times"`
	Last    time.Time `yaml:"last" json:"last"` // to the second
}

// XidAge is the time for which an Xid event is a fault. After that the operator has handled it, or it
// has occurred again.
const XidAge = 24 * time.Hour

// logLines limits the lines of a very long log: a few megabytes.
const logLines = 20_000

// xidLine matches a message of the driver in journald's format short-unix:
//
//	1763856000.123456 g1 kernel: NVRM: Xid (PCI:0000:4e:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
//
// For a GPU with MIG, the instance follows the address: "(PCI:0000:4e:00 GPU-I:05)".
var xidLine = regexp.MustCompile(`^(\d+)\.\d+ \S+ kernel: .*NVRM: Xid \(PCI:([0-9a-fA-F]{4,}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})[^)]*\): (\d+),`)

// ReadLog returns the Xid events of this boot in the kernel log that are not older than age. It reads at
// most the last 20,000 lines, and skips events that programs cause. It does not use the library, which
// reports only events during a listen, and a listener prevents the reset of a GPU.
func ReadLog(ctx context.Context, h host.Host, age time.Duration) ([]Logged, error) {
	out, err := h.Run(ctx, host.Cmd{Name: "journalctl", Args: []string{
		"--dmesg", "--quiet", "--no-pager", "--output=short-unix", fmt.Sprintf("--lines=%d", logLines), fmt.Sprintf("--since=-%ds", int(age.Seconds())),
	}})
	if err != nil {
		return nil, fmt.Errorf("read the kernel's log: %w", err)
	}
	return parseLog(string(out)), nil
}

// parseLog returns the events, sorted by address and number.
func parseLog(text string) []Logged {
	var all []Logged
	for line := range strings.Lines(text) {
		m := xidLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		at, _ := strconv.ParseInt(m[1], 10, 64)
		number, _ := strconv.ParseUint(m[3], 10, 64)
		if (Xid{Number: number}).ofProgram() {
			continue
		}
		address := strings.ToLower(m[2]) + ".0"
		i := slices.IndexFunc(all, func(l Logged) bool { return l.Address == address && l.Number == number })
		if i < 0 {
			i = len(all)
			all = append(all, Logged{Address: address, Number: number})
		}
		all[i].Times++
		all[i].Last = time.Unix(at, 0).UTC()
	}
	slices.SortFunc(all, func(a, b Logged) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Number, b.Number))
	})
	return all
}

// String returns, for example, "0000:4e:00.0: Xid 79 at 2026-11-23T00:10:00Z", and the number of events.
func (l Logged) String() string {
	text := fmt.Sprintf("%s: Xid %d at %s", l.Address, l.Number, l.Last.Format(time.RFC3339))
	if l.Times > 1 {
		text += fmt.Sprintf(", the last of %d", l.Times)
	}
	return text
}
