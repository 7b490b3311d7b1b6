package preflight

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// BootSysctl is a kernel parameter that the installation sets, now and at every boot.
type BootSysctl struct {
	Name  string
	Value int
	Floor bool // a higher value is left as it is
}

// lowers reports whether a file takes the parameter back at every boot.
func (b BootSysctl) lowers(s Sysctl, w *Want) bool {
	if !s.overrides(w, strconv.Itoa(b.Value)) {
		return false
	}
	n, err := strconv.Atoi(s.Boot)
	return err != nil || !b.Floor || n < b.Value
}

const inotifyPrefix = "fs.inotify."

var inotify = Check{
	ID: "inotify", Title: "Watched files", Source: "replicatedhq/embedded-cluster; kubespray; kind: pod errors due to too many open files",
	Breaks: "The kubelet and programs in pods cannot watch files any more: \"too many open files\".",
	Needs:  []string{"sysctls"}, Run: judgeInotify,
}

func judgeInotify(f *Facts, w *Want) Result {
	var found []string
	for _, b := range w.Sysctls {
		if !strings.HasPrefix(b.Name, inotifyPrefix) {
			continue
		}
		s := f.sysctl(b.Name)
		if b.lowers(s, w) {
			return s.lost(strconv.Itoa(b.Value))
		}
		found = append(found, strings.TrimPrefix(b.Name, inotifyPrefix)+" "+s.Value)
	}
	if len(found) == 0 {
		return skipped("nobody sets them")
	}
	return pass("%s; install raises what is lower", strings.Join(found, ", "))
}

var sysctlOverride = Check{
	ID: "sysctl-override", Title: "Kernel parameters stay as they are set", Source: "sysctl.d(5); tuned-main.conf: reapply_sysctl",
	Breaks: "All is well until the next reboot, when another file or tuned takes the parameters back.",
	Needs:  []string{"sysctls", "tuned"}, Run: judgeOverrides,
}

// judgeOverrides leaves to other checks the parameters that they are about.
func judgeOverrides(f *Facts, w *Want) Result {
	own := []string{"net.ipv4.ip_forward", "net.bridge.bridge-nf-call-iptables"}
	var lost []string
	for _, b := range w.Sysctls {
		_, kubelets := w.KubeletSysctls[b.Name]
		if s := f.sysctl(b.Name); !kubelets && !slices.Contains(own, b.Name) && !strings.HasPrefix(b.Name, inotifyPrefix) && b.lowers(s, w) {
			lost = append(lost, fmt.Sprintf("%s sets %s = %s", s.File, b.Name, s.Boot))
		}
	}
	switch {
	case len(lost) > 0:
		return Result{Warn, strings.Join(lost, ", ") + " at every boot", "no file after airgap's own that sets them", "remove these lines"}
	case f.Tuned.LeavesSysctls && f.Tuned.Profile != "":
		return Result{Warn, "tuned (profile " + f.Tuned.Profile + ") has the last word: reapply_sysctl = 0", "reapply_sysctl = 1, as it comes",
			"set it in /etc/tuned/tuned-main.conf, then systemctl restart tuned"}
	}
	return pass("no file sets them after airgap's own")
}
