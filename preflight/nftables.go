package preflight

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var nftForeign = Check{
	ID: "nft-foreign", Title: "No other packet filter drops the cluster's packets", Source: "netfilter: every table must accept a packet; moby: FORWARD drops; flannel: FLANNEL-FWD comes after the rules of others",
	Breaks: "The other packet filter drops packets that the cluster's tables accept: pods do not reach each other.",
	Needs:  []string{"dropChains", "packetRules", "savedRules", "units"}, Run: judgeDropChains,
}

// judgeDropChains skips firewalld's table, because the check firewalld covers it. A rule at the end of
// a chain stops more than a policy: a network plugin adds its rules after it.
func judgeDropChains(f *facts.Facts, w *Want) Result {
	if w.Managed {
		return skipped("the chains include the cluster's own rules")
	}
	var found []string
	for _, c := range f.DropChains {
		if c.Table != "firewalld" && (c.Hook != "forward" || !f.Asked.PodPath.Passed()) {
			found = append(found, fmt.Sprintf("chain %s of table %s %s (%s) drops by default", c.Chain, c.Family, c.Table, c.Hook))
		}
	}
	stop, unclear := judgeBlocks(f, f.PacketRules.Now.Blocks, w)
	stop = append(closedPorts(f, false), stop...)
	stopSaved, unclearSaved := judgeSaved(f, w)
	for _, unread := range f.PacketRules.Now.Unread {
		unclearSaved = append(unclearSaved, "the rules in the kernel have a part that airgap cannot read: "+unread)
	}
	stop, found = append(stop, stopSaved...), append(append(found, unclear...), unclearSaved...)
	const want = "rules that accept the cluster's traffic, and no service that replaces them"
	switch {
	case len(stop) > 0:
		return Result{Fail, strings.Join(append(stop, found...), "\n"), want,
			"accept the pod subnet and the ports that airgap preflight lists in ports-free before this rule, in the named file; or run systemctl disable --now for the service that loads the file, and reboot"}
	case len(found) > 0:
		return Result{Warn, strings.Join(found, "\n"), want,
			"find the program that created it (nft list table ...); configure it to accept the pod subnet and the ports that airgap preflight lists in ports-free; after a restart of such a service, restart the cluster's network (airgap verify finds what is missing)"}
	}
	return pass("none")
}
