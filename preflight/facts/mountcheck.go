package facts

import (
	"fmt"
	"regexp"
	"strings"
)

// unsteadyName matches device names that depend on the order in which disks appear.
var unsteadyName = regexp.MustCompile(`^/dev/(sd[a-z]+|vd[a-z]+|xvd[a-z]+|nvme\d+n\d+|dm-)(p?\d+)?$`)

// Weakness is why the host may boot without the mount.
func (m BootMount) Weakness(fsType string) string {
	var why []string
	for _, option := range []string{"nofail", "noauto", "x-systemd.automount", "_netdev"} {
		if m.Has(option) {
			why = append(why, option)
		}
	}
	switch {
	case m.Later:
		why = append(why, "no target that starts the unit")
	case m.Optional:
		why = append(why, "no target that needs the unit (RequiredBy=local-fs.target)")
	}
	if remote(fsType) && !m.Has("_netdev") {
		why = append(why, "a network file system")
	}
	if unsteadyName.MatchString(m.Spec) {
		why = append(why, m.Spec+" can be another disk after a boot")
	}
	if len(why) == 0 {
		return ""
	}
	return fmt.Sprintf("%s mounts %s with %s", m.At(), m.Mount, strings.Join(why, ", "))
}
