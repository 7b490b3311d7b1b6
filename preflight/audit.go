package preflight

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"airgap.dev/airgap/preflight/auditrules"
)

// Audit is the configuration of the Linux audit system.
type Audit struct {
	Rules auditrules.Rules `yaml:"rules" json:"rules"`
	// Halts are the lines of auditd.conf that halt the host: "disk_full_action = HALT".
	Halts []string `yaml:"halts,omitempty" json:"halts,omitempty"`
}

var auditHalt = regexp.MustCompile(`(?i)^\s*(\w+_action)\s*=\s*(halt|single)\s*$`)

// auditRules is the directory from which augenrules builds audit.rules.
const auditRules = "etc/audit/rules.d"

const auditConf = "etc/audit/auditd.conf"

// readAudit reads both places: augenrules writes audit.rules from the directory at the start of the
// service, but some sites load a file of their own.
func readAudit(_ context.Context, r reader, f *Facts) error {
	conf, err := r.content(auditConf)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(conf, "\n") {
		if m := auditHalt.FindStringSubmatch(line); m != nil {
			f.Audit.Halts = append(f.Audit.Halts, fmt.Sprintf("%s = %s (/%s:%d)", m[1], m[2], auditConf, i+1))
		}
	}
	names, err := r.names(auditRules)
	if err != nil {
		return err
	}
	built, one := auditrules.Reader{Merged: true}, auditrules.Reader{}
	for _, name := range names {
		if strings.HasSuffix(name, ".rules") {
			text, err := r.content(auditRules + "/" + name)
			if err != nil {
				return err
			}
			built.Add("/"+auditRules+"/"+name, text)
		}
	}
	text, err := r.content("etc/audit/audit.rules")
	if err != nil {
		return err
	}
	one.Add("/etc/audit/audit.rules", text)
	f.Audit.Rules = built.With(one)
	return nil
}

var auditd = Check{
	ID: "auditd", Title: "Audit log cannot stop the host", Source: "airgap: kubelet probes and containers start hundreds of programs a minute; auditd.conf(5), auditctl(8)",
	Breaks: "The audit log fills its disk within hours, and auditd halts the host; or the kernel panics because its queue of records is full.",
	Needs:  []string{"audit", "units"}, Run: judgeAudit,
}

// enoughBacklog is the queue of hardening guides for a busy host.
const enoughBacklog = 8192

// judgeAudit fails only if a full queue of records ends in a panic, and containers fill the queue.
func judgeAudit(f *Facts, _ *Want) Result {
	if !f.unit("auditd.service").Active() && !f.unit("audit-rules.service").Active() {
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
		switch {
		case rules.Backlog == 0:
			found = append(found, "no file sets the length of the queue (-b)")
		case rules.Backlog < enoughBacklog:
			found = append(found, fmt.Sprintf("the queue has only %d records (-b in %s)", rules.Backlog, rules.BacklogAt))
		}
		fix = append(fix, fmt.Sprintf("set -b %d or more; and ask the administrators for -f 1, which logs a lost record", enoughBacklog))
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
