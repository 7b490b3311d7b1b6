package preflight

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

// Audit is the configuration of the Linux audit system.
type Audit struct {
	// Execve are the rules that log every program start of every user.
	Execve []string `yaml:"execve,omitempty" json:"execve,omitempty"`
	// Halts are the lines of auditd.conf that halt the host: "disk_full_action = HALT".
	Halts []string `yaml:"halts,omitempty" json:"halts,omitempty"`
}

var (
	auditHalt   = regexp.MustCompile(`(?im)^\s*(\w+_action)\s*=\s*(halt|single)\s*$`)
	auditExecve = regexp.MustCompile(`(?m)^\s*-a\b.*\bexecve(at)?\b.*$`)
)

// auditRules is the directory from which augenrules builds audit.rules.
const auditRules = "etc/audit/rules.d"

func readAudit(_ context.Context, r reader, f *Facts) error {
	conf, err := r.optional("etc/audit/auditd.conf")
	if err != nil {
		return err
	}
	for _, m := range auditHalt.FindAllStringSubmatch(conf, -1) {
		f.Audit.Halts = append(f.Audit.Halts, m[1]+" = "+m[2])
	}
	files := []string{"etc/audit/audit.rules"}
	names, err := r.names(auditRules)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".rules") {
			files = append(files, auditRules+"/"+name)
		}
	}
	for _, file := range files {
		text, err := r.optional(file)
		if err != nil {
			return err
		}
		for _, rule := range auditExecve.FindAllString(text, -1) {
			if rule = strings.TrimSpace(rule); !narrow(rule) && !slices.Contains(f.Audit.Execve, rule) {
				f.Audit.Execve = append(f.Audit.Execve, rule)
			}
		}
	}
	return nil
}

// narrow reports whether a rule logs only few program starts, such as the rules for set-uid
// programs in hardening guides. They compare users (-C), or name a program, a path or a login.
func narrow(rule string) bool {
	return strings.Contains(rule, " -C ") || regexp.MustCompile(`-F\s*(path|exe|dir|auid|uid|euid)\b`).MatchString(rule)
}

var auditd = Check{
	ID: "auditd", Title: "Audit log cannot stop the host", Source: "airgap: kubelet probes and containers start hundreds of programs a minute; auditd.conf(5)",
	Breaks: "The audit log fills its disk within hours. auditd then halts the host, as configured.",
	Needs:  []string{"audit", "units"}, Run: judgeAudit,
}

func judgeAudit(f *Facts, _ *Want) Result {
	if !f.unit("auditd.service").Active() {
		return pass("not active")
	}
	var found, fix []string
	if len(f.Audit.Execve) > 0 {
		found = append(found, "logs every program start: "+strings.Join(f.Audit.Execve, "; "))
		fix = append(fix, "exclude containers from the rule (-F auid!=unset)")
	}
	if len(f.Audit.Halts) > 0 {
		found = append(found, "halts the host: "+strings.Join(f.Audit.Halts, ", "))
		fix = append(fix, "ask its administrators to put /var/log/audit on a large enough file system, or to set suspend or rotate")
	}
	if len(found) == 0 {
		return pass("active")
	}
	return Result{Warn, strings.Join(found, "; "), "an audit log that containers cannot fill", strings.Join(fix, "; ")}
}
