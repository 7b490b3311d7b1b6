package facts

import (
	"context"

	"airgap.dev/airgap/internal/sysctld"
)

// Tuned is the configuration of tuned, the daemon that sets kernel parameters by profile.
type Tuned struct {
	Profile string `yaml:"profile,omitempty" json:"profile,omitempty"` // "" without tuned
	// LeavesSysctls is true if tuned does not apply /etc/sysctl.d again after its profile.
	LeavesSysctls bool `yaml:"leavesSysctls,omitempty" json:"leavesSysctls,omitempty"`
}

func readTuned(_ context.Context, r reader, f *Facts) error {
	var err error
	if f.Tuned.Profile, err = r.optional("etc/tuned/active_profile"); err != nil {
		return err
	}
	conf, err := r.optional("etc/tuned/tuned-main.conf")
	f.Tuned.LeavesSysctls = sysctld.LeavesSysctls(conf)
	return err
}
