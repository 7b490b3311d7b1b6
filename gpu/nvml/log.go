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

// Logged is what the kernel's log has of one card's Xid events of one number.
type Logged struct {
	Address string    `yaml:"address" json:"address"` // "0000:4e:00.0"
	Number  uint64    `yaml:"xid" json:"xid"`
	Times   int       `yaml:"times" json:"times"`
	Last    time.Time `yaml:"last" json:"last"` // to the second
}

// XidAge is how long an Xid event counts: somebody has looked by then, or it has come
// again.
const XidAge = 24 * time.Hour

// logLines bound what is read of a log that is flooded: a few megabytes.
const logLines = 20_000

// xidLine is journald's short-unix form of what the driver writes:
//
//	1763856000.123456 g1 kernel: NVRM: Xid (PCI:0000:4e:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
//
// Of a card that is divided, the part follows the address: "(PCI:0000:4e:00 GPU-I:05)".
var xidLine = regexp.MustCompile(`^(\d+)\.\d+ \S+ kernel: .*NVRM: Xid \(PCI:([0-9a-fA-F]{4,}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})[^)]*\): (\d+),`)

// ReadLog looks for Xid events of this boot that are no older than age in the
// kernel's log, of which journald has the last 20,000 lines read. Those that
// programs bring about are left out. The library tells only of events while it is
// listened to, and whoever listens keeps a card from being reset.
func ReadLog(ctx context.Context, h host.Host, age time.Duration) ([]Logged, error) {
	out, err := h.Run(ctx, host.Cmd{Name: "journalctl", Args: []string{
		"--dmesg", "--quiet", "--no-pager", "--output=short-unix", fmt.Sprintf("--lines=%d", logLines), fmt.Sprintf("--since=-%ds", int(age.Seconds())),
	}})
	if err != nil {
		return nil, fmt.Errorf("read the kernel's log: %w", err)
	}
	return parseLog(string(out)), nil
}

// parseLog has them in the order of addresses and numbers.
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

// String is "0000:4e:00.0: Xid 79 at 2026-11-23T00:10:00Z", with how often before.
func (l Logged) String() string {
	text := fmt.Sprintf("%s: Xid %d at %s", l.Address, l.Number, l.Last.Format(time.RFC3339))
	if l.Times > 1 {
		text += fmt.Sprintf(", the last of %d", l.Times)
	}
	return text
}
