package preflight

import (
	"strconv"

	"airgap.dev/airgap/preflight/facts"
)

var conntrackWarn = Limit{
	Check: "conntrack", Name: "warn", Unit: Count, Default: always(131072),
	About: "Tracked connections below which the check warns. Default 131072.",
}

var conntrack = Check{
	ID: "conntrack", Title: "Connection tracking table is large enough", Source: "kops#17915; kube-proxy conntrack.min",
	Breaks: "When the table is full, the kernel drops new connections. Only the kernel log shows it.",
	Limits: []Limit{conntrackWarn}, Needs: []string{"sysctls"}, Run: judgeConntrack,
}

// judgeConntrack cannot read a size before the module is loaded. The kernel then chooses one for
// the memory, and kube-proxy raises it to 131072 or more.
func judgeConntrack(f *facts.Facts, w *Want) Result {
	const name = "net.netfilter.nf_conntrack_max"
	s := f.Sysctl(name)
	have, errHave := strconv.ParseInt(s.Value, 10, 64)
	boot, errBoot := strconv.ParseInt(s.Boot, 10, 64)
	enough := w.limit(conntrackWarn)
	switch {
	case errBoot == nil && boot < enough:
		found := s.Setting() + " at every boot"
		if errHave == nil && have >= enough {
			found = s.Value + " now, but " + found
		}
		return Result{Warn, found, strconv.FormatInt(enough, 10) + " or more", "raise it in " + s.File}
	case errHave != nil:
		return pass("not loaded yet; kube-proxy sets the size")
	case have < enough && !w.Managed:
		return pass("%d; kube-proxy raises it", have)
	case have < enough:
		return Result{Warn, s.Value, strconv.FormatInt(enough, 10) + " or more", "run sysctl -w " + name + "=" + strconv.FormatInt(enough, 10) + ", and set the same value in a file of /etc/sysctl.d/"}
	default:
		return pass("%d", have)
	}
}
