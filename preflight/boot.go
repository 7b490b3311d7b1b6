package preflight

import (
	"strings"

	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/facts"
)

// nextCgroup is the cgroup mode of the next boot, and the reason; "" if it is unknown.
func nextCgroup(f *facts.Facts) (mode, why string) {
	if f.Boot.Entry.ID == "" {
		return "", ""
	}
	cmdline, from := f.NextCmdline()
	return nextboot.CgroupMode(cmdline, from, enterprise.Of(f.OS.Enterprise()).Cgroup)
}

// reboot is the hint for a boot that must come early, at a time that the administrator chooses.
func (w *Want) reboot() string {
	if w.Watched {
		return "reboot this node at a planned time, after kubectl drain"
	}
	return "reboot before the installation"
}

// bootFix is the hint for a parameter of a boot entry.
func bootFix(parameter string) string {
	name, _, _ := strings.Cut(parameter, "=")
	return "run grubby --update-kernel=ALL --remove-args=" + name + ", remove it from /etc/default/grub, and reboot"
}
