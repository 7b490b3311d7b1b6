package settings

import (
	"errors"
	"io/fs"
	"strconv"

	"airgap.dev/airgap/internal/host"
)

// SysctlDrift is a kernel parameter that a node needs and that is another one
// now. Saw is "" where the kernel does not have it, as without its module.
type SysctlDrift struct{ Key, Saw, Want string }

// DriftedSysctls returns the parameters of NodeSysctls and NetworkLimitsStep with another value now.
func DriftedSysctls(m host.Machine) ([]SysctlDrift, error) {
	var drifted []SysctlDrift
	for _, s := range NodeSysctls() {
		have, err := readSysctl(m, s.Key)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			drifted = append(drifted, SysctlDrift{s.Key, "", s.want()})
		case err != nil:
			return nil, err
		case !s.holds(have):
			drifted = append(drifted, SysctlDrift{s.Key, strconv.Itoa(have), s.want()})
		}
	}
	limits, err := driftedLimits(m)
	return append(drifted, limits...), err
}

func (s Sysctl) want() string {
	if s.Floor {
		return "at least " + strconv.Itoa(s.Value)
	}
	return strconv.Itoa(s.Value)
}
