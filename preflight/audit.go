package preflight

import (
	"fmt"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/facts"
)

var auditd = Check{
	ID: "auditd", Title: "Audit log cannot stop the host", Source: "airgap: kubelet probes and containers start hundreds of programs a minute; auditd.conf(5), auditctl(8)",
	Breaks: "The audit log fills its disk within hours, and auditd halts the host; or the kernel panics because its queue of records is full.",
	Needs:  []string{"audit", "units", "nextKernel"}, Run: judgeAudit,
}

// enoughBacklog is the queue of hardening guides for a busy host.
const enoughBacklog = 8192

// judgeAudit fails only if a full queue of records ends in a panic, and containers fill the queue.
func judgeAudit(f *facts.Facts, _ *Want) Result {
	if daemon, rules := f.Unit("auditd.service"), f.Unit("audit-rules.service"); !daemon.Active() && !daemon.Later() && !rules.Active() && !rules.Later() {
		return pass("not active")
	}
	status, rules := Warn, f.Audit.Rules
	var found, fix []string
	for _, rule := range rules.Floods {
		why := ""
		if rule.Unset {
			why = " (auid>=NUMBER also holds for programs without a login, 4294967295)"
		}
		found = append(found, fmt.Sprintf("logs the work of containers%s: %s in %s", why, rule.Text, rule.At))
	}
	if len(rules.Floods) > 0 {
		fix = append(fix, "exclude containers from the rules (-F auid!=unset)")
	}
	if rules.Panics != nil {
		found = append(found, fmt.Sprintf("the kernel panics if a record is lost: %s in %s", rules.Panics.Text, rules.Panics.At))
		if len(rules.Floods) > 0 {
			status = Fail
		}
		fix = append(fix, "ask the administrators for -f 1, which logs a lost record")
	}
	if short, sure := shortQueue(f); short != "" && (sure || len(found) > 0) {
		found = append(found, short)
		fix = append(fix, fmt.Sprintf("set -b %d or more", enoughBacklog))
	}
	if len(f.Audit.Halts) > 0 {
		found = append(found, "halts the host: "+strings.Join(f.Audit.Halts, ", "))
		fix = append(fix, "ask its administrators to put /var/log/audit on a large enough file system, or to set suspend or rotate")
	}
	if len(found) == 0 {
		return pass("active")
	}
	if rules.Locked != nil {
		fix = append(fix, "reboot: the rules are locked ("+rules.Locked.Text+" in "+rules.Locked.At+")")
	}
	return Result{status, strings.Join(found, "\n"), "an audit log that containers cannot fill", strings.Join(fix, "; ")}
}

// shortQueue describes a queue that a burst of records fills: programs then wait, and records are lost. A
// rule has priority over the kernel command line. Without both, the queue is the kernel's or the site's: it
// is not sure that it is short.
func shortQueue(f *facts.Facts) (found string, sure bool) {
	records, at := f.Audit.Rules.Backlog, "-b in "+f.Audit.Rules.BacklogAt
	if records == 0 {
		const option = "audit_backlog_limit"
		cmdline, from := f.NextCmdline()
		limit, err := strconv.Atoi(nextboot.Last(cmdline, option).Value)
		if err != nil {
			return "no file sets the length of the queue (-b)", false
		}
		records, at = limit, option+" in "+from
	}
	if records >= enoughBacklog || records == 0 { // 0: without a limit
		return "", false
	}
	return fmt.Sprintf("the queue has only %d records (%s): when it is full, programs wait", records, at), true
}
