package preflight

import (
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var iptablesBackend = Check{
	ID: "iptables-backend", Title: "Only the nf_tables backend of iptables is in use", Source: "calico#3709; kubernetes-sigs/iptables-wrappers",
	Breaks: "The two backends do not see each other's rules: one drops packets that the other accepts.",
	Needs:  []string{"iptables"}, Run: judgeIptables,
}

func judgeIptables(f *facts.Facts, _ *Want) Result {
	switch {
	case f.Iptables.Backend == "legacy":
		return Result{Warn, "iptables uses the legacy backend", "nf_tables, as in Enterprise Linux",
			"find its package with alternatives --display iptables; use the distribution's iptables-nft"}
	case len(f.Iptables.Legacy) > 0:
		return Result{Warn, "the kernel has tables of the legacy backend: " + strings.Join(f.Iptables.Legacy, ", "), "only nf_tables rules",
			"find the program that created them (iptables-legacy-save lists the rules), switch it to nf_tables, then reboot"}
	case f.Iptables.Backend == "":
		return pass("no iptables yet")
	default:
		return pass("%s", f.Iptables.Backend)
	}
}
