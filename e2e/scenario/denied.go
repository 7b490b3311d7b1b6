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

// denials prints when the run began and what SELinux has denied since the log
// begins. auditd has it, or the kernel's log where that does not run.
const denials = `cat "$0/began"
[ -e /sys/fs/selinux/enforce ] || exit 0
{ cat /var/log/audit/audit.log* 2>/dev/null; journalctl -k -o cat --no-pager; } | grep -E 'avc: +denied' || true`

// nothingDenied wants SELinux, where hosts have it, to have denied nothing since
// the run began.
func nothingDenied(ctx context.Context, machines []lab.Machine) error {
	var all []string
	for _, m := range machines {
		text, err := lab.Output(ctx, m, "sh", "-c", denials, lab.ForeignDir)
		if err != nil {
			return fmt.Errorf("ask host %s what SELinux denied: %w", m.Name(), err)
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

// auditTime is when a line of the audit log is of, in seconds since 1970.
var auditTime = regexp.MustCompile(`\baudit\((\d+)\.\d+:\d+\)`)

// deniedSince are the lines behind the first that are not older than it says.
func deniedSince(text string) []string {
	began, lines, _ := strings.Cut(text, "\n")
	since, _ := strconv.ParseInt(began, 10, 64) // by date +%s
	var denied []string
	for line := range strings.Lines(lines) {
		of := auditTime.FindStringSubmatch(line)
		if of == nil {
			continue
		}
		if at, err := strconv.ParseInt(of[1], 10, 64); err == nil && at >= since {
			denied = append(denied, strings.TrimSpace(line))
		}
	}
	slices.Sort(denied)
	return slices.Compact(denied)
}
