package preflight

import (
	"testing"

	"airgap.dev/airgap/preflight/auditrules"
	"airgap.dev/airgap/preflight/facts"
)

// TestAuditQueue: a short queue alone is a warning. A rule has priority over the command line.
func TestAuditQueue(t *testing.T) {
	audited := func(cmdline string, rules auditrules.Rules) *facts.Facts {
		return &facts.Facts{Audit: facts.Audit{Rules: rules}, Kernel: facts.Kernel{Cmdline: cmdline}, Units: []facts.Unit{{Name: "auditd.service", State: "active"}}}
	}
	floods := []auditrules.Rule{{At: "/f:1", Text: "-S execve"}}
	none := auditrules.Rules{}
	const option = "audit_backlog_limit="
	runChecks(t, []checkTest{
		{"short", auditd, audited("", auditrules.Rules{Backlog: 64, BacklogAt: "/f:3"}), Want{}, Warn, "only 64 records (-b in /f:3)"},
		{"long", auditd, audited("", auditrules.Rules{Backlog: 8192, BacklogAt: "/f:3"}), Want{}, Pass, "active"},
		{"short on the command line", auditd, audited("ro "+option+"320", none), Want{}, Warn, "only 320 records (audit_backlog_limit in the kernel command line)"},
		{"long on the command line", auditd, audited(option+"8192", none), Want{}, Pass, "active"},
		{"a rule after the command line", auditd, audited(option+"64", auditrules.Rules{Backlog: 8192}), Want{}, Pass, "active"},
		{"no number", auditd, audited(option+"x", none), Want{}, Pass, "active"},
		{"no length anywhere", auditd, audited("", none), Want{}, Pass, "active"},
		{"no length anywhere, and a flood", auditd, audited("", auditrules.Rules{Floods: floods}), Want{}, Warn, "no file sets the length of the queue (-b)"},
	})
}
