package preflight

import (
	"strconv"
)

var conntrackWarn = Limit{
	Check: "conntrack", Name: "warn", Unit: Count, Default: always(131072),
	About: "Tracked connections below which there is a warning. Default 131072.",
}

var conntrack = Check{
	ID: "conntrack", Title: "Room for tracked connections", Source: "kops#17915; kube-proxy conntrack.min",
	Breaks: "When the table is full new connections are dropped, one by one, and nothing but the kernel's log says so.",
	Limits: []Limit{conntrackWarn}, Needs: []string{"sysctls"}, Run: judgeConntrack,
}

// judgeConntrack knows no size before the module is loaded: the kernel chooses one by
// the memory, and kube-proxy raises it to 131072 or more.
func judgeConntrack(f *Facts, w *Want) Result {
	const name = "net.netfilter.nf_conntrack_max"
	s := f.sysctl(name)
	have, errHave := strconv.ParseInt(s.Value, 10, 64)
	boot, errBoot := strconv.ParseInt(s.Boot, 10, 64)
	enough := w.limit(conntrackWarn)
	switch {
	case errBoot == nil && boot < enough:
		return Result{Warn, s.File + " sets " + name + " = " + s.Boot, strconv.FormatInt(enough, 10) + " or more", "raise it in " + s.File}
	case errHave != nil:
		return pass("none tracked yet; kube-proxy sets how many")
	case have < enough && !w.Ours:
		return pass("%d; kube-proxy raises it", have)
	case have < enough:
		return Result{Warn, s.Value, strconv.FormatInt(enough, 10) + " or more", "sysctl -w " + name + "=" + strconv.FormatInt(enough, 10) + ", and the same in /etc/sysctl.d/"}
	default:
		return pass("%d", have)
	}
}
