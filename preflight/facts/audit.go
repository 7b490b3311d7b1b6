package facts

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
