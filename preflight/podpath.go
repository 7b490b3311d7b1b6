package preflight

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var podPath = Check{
	ID: "pod-path", Title: "Packets of pods pass this host", Source: "replicatedhq/embedded-cluster; netfilter: every chain must accept a packet",
	Breaks: "Pods do not reach each other or Services, although every program runs.",
	Run:    judgePodPath,
}

func judgePodPath(f *facts.Facts, w *Want) Result {
	path := f.Asked.PodPath
	switch {
	case w.Managed:
		return skipped("the cluster's own rules apply to its pods: airgap verify tries them")
	case !path.Outcome.Done && path.Outcome.Skipped != "":
		return skipped("not tried: " + path.Outcome.Skipped)
	case !path.Outcome.Done:
		return skipped("not tried: only preflight on the server itself tries it")
	case path.Outcome.Failed != "":
		return Result{Error, "not tried: " + path.Outcome.Failed, "a test that can run", "run as root on the server itself; or try it after the installation with airgap verify, and pass --skip pod-path"}
	case len(path.Lost) > 0:
		return judgeLost(f, w)
	}
	return pass("TCP and UDP pass between two addresses of the pod subnet")
}

// judgeLost names the rules: the ones that counted the packets, or the ones that stop every packet.
// Two of them do not stop a cluster: install opens firewalld for the interfaces of pods, and network
// plugins add rules before the policy of iptables' chain FORWARD.
func judgeLost(f *facts.Facts, w *Want) Result {
	rules, onlyPolicy := f.Asked.PodPath.Rules, false
	if len(rules) == 0 {
		onlyPolicy = true
		for _, b := range f.PacketRules.Now.Blocks {
			if b.Hook == "forward" {
				rules = append(rules, fmt.Sprintf("chain %s of table %s: %s", b.Chain, b.Table, b.Rule))
				onlyPolicy = onlyPolicy && b.Policy && strings.HasSuffix(b.Table, " filter") && strings.HasPrefix(b.Table, "ip")
			}
		}
		onlyPolicy = onlyPolicy && len(rules) > 0
	}
	found := strings.Join(f.Asked.PodPath.Lost, ", ") + " did not pass"
	firewalld := f.Unit("firewalld.service").Active()
	if firewalld && len(rules) == 0 {
		if w.FirewallLeft == nil {
			return skipped("firewalld rejects packets of interfaces that it does not know; install adds the ones of pods to the zone trusted")
		}
		return Result{Warn, found + ": firewalld rejects packets of interfaces that it does not know", "the interfaces of pods in the zone trusted", "ask the firewall's administrators to add them, as the page of the check firewalld has it"}
	}
	result := Result{Fail, found, "TCP and UDP pass between two addresses of the pod subnet", "find the rule with nft monitor trace, and accept the pod subnet before it"}
	if len(rules) > 0 {
		result.Found += ":\n" + strings.Join(rules, "\n")
		result.Fix = "accept the pod subnet before this rule, or ask the owner of the rule to do so"
	}
	if len(rules) == 0 && len(f.Iptables.Legacy) > 0 {
		result.Fix = "find the rule with iptables-legacy-save --counters or nft monitor trace, and accept the pod subnet before it"
	}
	if onlyPolicy {
		result.Status = Warn
		result.Fix += "; the network plugin adds rules before this policy"
	}
	return result
}
