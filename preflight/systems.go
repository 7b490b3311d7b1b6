package preflight

// System is what a major version of Enterprise Linux brings, as far as
// Kubernetes and what runs beside it ask for it.
type System struct {
	OS           string `json:"os"`           // "el9"
	Kernel       string `json:"kernel"`       // of Red Hat and its rebuilds; Oracle's UEK is another one
	Glibc        string `json:"glibc"`        // for programs that are not static
	Cgroup       string `json:"cgroup"`       // that it boots with: "v1", "v2"
	PacketFilter string `json:"packetFilter"` // what kube-proxy and the pod network find
	Source       string `json:"source"`
}

// Systems are those that bundles are made for.
func Systems() []System {
	return []System{
		{"el8", "4.18", "2.28", "v1", "iptables on nft", "Red Hat: RHEL 8 package manifest; kubernetes#131881"},
		{"el9", "5.14", "2.34", "v2", "iptables on nft, deprecated", "Red Hat: RHEL 9 package manifest; considerations in adopting RHEL 9"},
		{"el10", "6.12", "2.39", "v2", "nftables; xt modules in kernel-modules-extra", "Red Hat: RHEL 10 package manifest; kops#18724"},
	}
}

// Assumed are the facts of a server that nobody has surveyed: its system's own.
// ok is false where there is no such system.
func Assumed(os string) (f *Facts, ok bool) {
	for _, s := range Systems() {
		if s.OS == os {
			return &Facts{
				Host: os, OS: OS{ID: "rhel", Version: os[len("el"):], Name: os},
				Kernel: Kernel{Release: s.Kernel}, Cgroup: Cgroup{Mode: s.Cgroup},
			}, true
		}
	}
	return nil, false
}
