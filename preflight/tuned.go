package preflight

import (
	"context"
	"regexp"
)

// Tuned is the configuration of tuned, the daemon that sets kernel parameters by profile.
type Tuned struct {
	Profile string `yaml:"profile,omitempty" json:"profile,omitempty"` // "" without tuned
	// LeavesSysctls is true if tuned does not apply /etc/sysctl.d again after its profile.
	LeavesSysctls bool `yaml:"leavesSysctls,omitempty" json:"leavesSysctls,omitempty"`
}

var reapply = regexp.MustCompile(`(?m)^\s*reapply_sysctl\s*=\s*(\w+)`)

func readTuned(_ context.Context, r reader, f *Facts) error {
	var err error
	if f.Tuned.Profile, err = r.optional("etc/tuned/active_profile"); err != nil {
		return err
	}
	conf, err := r.optional("etc/tuned/tuned-main.conf")
	if m := reapply.FindStringSubmatch(conf); m != nil {
		f.Tuned.LeavesSysctls = m[1] == "0" || m[1] == "False" || m[1] == "false"
	}
	return err
}
