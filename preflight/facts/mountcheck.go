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
	if m.Closed != "" {
		why = append(why, "an encrypted disk that stays closed (noauto in "+m.Closed+")")
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

// On reports whether the mount has one of the options ro, noexec, nosuid and nodev, as mount(8) reads
// them: the last option counts, and user, users, owner and group imply others.
func (m BootMount) On(option string) bool {
	opposite := map[string]string{"ro": "rw", "noexec": "exec", "nosuid": "suid", "nodev": "dev"}[option]
	on := false
	for _, o := range m.Options {
		switch o {
		case option:
			on = true
		case opposite:
			on = false
		case "user", "users":
			on = on || option != "ro"
		case "owner", "group":
			on = on || option == "nosuid" || option == "nodev"
		}
	}
	return on
}

// OnAt returns the place of the mount that gives a path one of these options at the next boot; "" if none
// does. The root file system counts too.
func (b BootMounts) OnAt(p, option string) string {
	var best BootMount
	for _, m := range b.Mounts {
		if within(p, m.Mount) && len(m.Mount) > len(best.Mount) {
			best = m
		}
	}
	if !best.On(option) {
		return ""
	}
	return best.At()
}
