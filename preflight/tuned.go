package preflight

import (
	"context"
	"regexp"
)

// Tuned is the daemon that sets kernel parameters by profiles.
type Tuned struct {
	Profile string `yaml:"profile,omitempty" json:"profile,omitempty"` // "" where there is none
	// LeavesSysctls says that it does not apply /etc/sysctl.d again after its own.
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
