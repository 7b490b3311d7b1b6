package scenario

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

// denials prints the start time of the run and all SELinux denials in the logs. They are in
// the audit log, or in the kernel's log if auditd does not run.
const denials = `cat "$0/began"
[ -e /sys/fs/selinux/enforce ] || exit 0
{ cat /var/log/audit/audit.log* 2>/dev/null; journalctl -k -o cat --no-pager; } | grep -E 'avc: +denied' || true`

// nothingDenied checks that SELinux, if a host has it, has denied nothing since the run began.
func nothingDenied(ctx context.Context, machines []lab.Machine) error {
	var all []string
	for _, m := range machines {
		text, err := lab.Output(ctx, m, "sh", "-c", denials, lab.ForeignDir)
		if err != nil {
			return fmt.Errorf("read the SELinux denials of host %s: %w", m.Name(), err)
		}
		for _, line := range deniedSince(text) {
			all = append(all, m.Name()+": "+line)
		}
	}
	if len(all) > 0 {
		return fmt.Errorf("SELinux denied:\n  %s", strings.Join(all, "\n  "))
	}
	return nil
}

// auditTime matches the time of a line of the audit log, in seconds since 1970.
var auditTime = regexp.MustCompile(`\baudit\((\d+)\.\d+:\d+\)`)

// deniedSince returns the lines of denials that are not older than the time in the first line.
func deniedSince(text string) []string {
	began, lines, _ := strings.Cut(text, "\n")
	since, _ := strconv.ParseInt(began, 10, 64) // by date +%s
	var denied []string
	for line := range strings.Lines(lines) {
		stamp := auditTime.FindStringSubmatch(line)
		if stamp == nil {
			continue
		}
		if at, err := strconv.ParseInt(stamp[1], 10, 64); err == nil && at >= since {
			denied = append(denied, strings.TrimSpace(line))
		}
	}
	slices.Sort(denied)
	return slices.Compact(denied)
}
