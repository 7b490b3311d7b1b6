package preflight

import (
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

// BootSysctl is a kernel parameter that the installation sets, now and at every boot.
type BootSysctl struct {
	Name  string
	Value int
	Floor bool // a higher value stays
}

// overriddenBy reports whether a file overrides the parameter at every boot.
func (b BootSysctl) overriddenBy(s facts.Sysctl, f *facts.Facts, w *Want) bool {
	if !overrides(s, f, w, strconv.Itoa(b.Value)) {
		return false
	}
	n, err := strconv.Atoi(s.Boot)
	return err != nil || !b.Floor || n < b.Value
}

const inotifyPrefix = "fs.inotify."

var inotify = Check{
	ID: "inotify", Title: "inotify limits are high enough", Source: "replicatedhq/embedded-cluster; kubespray; kind: pod errors due to too many open files",
	Breaks: "The kubelet and programs in pods can no longer watch files: \"too many open files\".",
	Needs:  []string{"sysctls", "tuned"}, Run: judgeInotify,
}

func judgeInotify(f *facts.Facts, w *Want) Result {
	var found []string
	for _, b := range w.Sysctls {
		if !strings.HasPrefix(b.Name, inotifyPrefix) {
			continue
		}
		s := f.Sysctl(b.Name)
		if b.overriddenBy(s, f, w) {
			return overridden(s, strconv.Itoa(b.Value))
		}
		found = append(found, strings.TrimPrefix(b.Name, inotifyPrefix)+" "+s.Value)
	}
	if len(found) == 0 {
		return skipped("install does not set them")
	}
	return pass("%s; install raises lower values", strings.Join(found, ", "))
}

var sysctlOverride = Check{
	ID: "sysctl-override", Title: "Kernel parameters stay set", Source: "sysctl.d(5); tuned-main.conf: reapply_sysctl",
	Breaks: "The cluster works until the next reboot. Then another file or tuned overrides the parameters.",
	Needs:  []string{"sysctls", "tuned", "units"}, Run: judgeOverrides,
}

// judgeOverrides skips the parameters that other checks cover.
func judgeOverrides(f *facts.Facts, w *Want) Result {
	own := []string{facts.ForwardingParameter, facts.DefaultForwardingParameter, "net.bridge.bridge-nf-call-iptables"}
	var lost []string
	for _, b := range w.Sysctls {
		_, kubelets := w.KubeletSysctls[b.Name]
		if s := f.Sysctl(b.Name); !kubelets && !slices.Contains(own, b.Name) && !strings.HasPrefix(b.Name, inotifyPrefix) && b.overriddenBy(s, f, w) {
			lost = append(lost, s.Setting())
		}
	}
	switch {
	case w.SysctlFile != "" && f.Unit("systemd-sysctl.service").Enabled == "masked":
		return Result{Fail, "systemd-sysctl.service is masked: the next boot sets no kernel parameter of a file", "a systemd-sysctl that starts at every boot", "run systemctl unmask systemd-sysctl"}
	case len(lost) > 0:
		return Result{Warn, strings.Join(lost, ", ") + " at every boot", "no file that overrides airgap's values", "remove these lines"}
	case f.Tuned.LeavesSysctls && f.Tuned.Profile != "":
		return Result{Warn, "tuned (profile " + f.Tuned.Profile + ") overrides /etc/sysctl.d: reapply_sysctl = 0", "reapply_sysctl = 1, the default",
			"set it in /etc/tuned/tuned-main.conf, then run systemctl restart tuned"}
	}
	return pass("no file overrides airgap's values")
}
