package preflight

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var rpFilter = Check{
	ID: "rp-filter", Title: "Reverse path filter allows asymmetric routes", Source: "replicatedhq/embedded-cluster; kernel documentation: ip-sysctl",
	Breaks: "A host with several networks silently drops packets from the other networks.",
	Needs:  []string{"filtering", "links", "sysctls"}, Run: judgeRPFilter,
}

// judgeRPFilter judges the present values and those of the next boot.
func judgeRPFilter(f *facts.Facts, w *Want) Result {
	now, boot := judgeLooseForAll(f, w, f.Present), judgeLooseForAll(f, w, f.AtBoot)
	if now.Status == Fail || boot.Status == Fail {
		return nowAndBoot(now, boot, f.Sysctl(facts.LinkParameter("all", facts.RPFilterParameter)))
	}
	now, boot = judgeStrict(f, w, f.Present), judgeStrict(f, w, f.AtBoot)
	return nowAndBoot(now, boot, f.SetAtBoot(facts.RPFilterParameter))
}

// judgeStrict allows the strict mode on a host with a single network, which has no second route.
func judgeStrict(f *facts.Facts, w *Want, at moment) Result {
	var strict, lines []string
	uplinks := f.Uplinks()
	for _, name := range uplinks {
		if value, line := at(name, facts.RPFilterParameter); value == 1 {
			strict, lines = append(strict, name), addLine(lines, line)
		}
	}
	r := Result{Warn, "strict on " + strings.Join(strict, ", ") + inBrackets(lines), "0 or 2 (loose)",
		"set net.ipv4.conf.all.rp_filter = 2 in a file of /etc/sysctl.d, then run sysctl --system: the larger value applies"}
	if w.Network.ByLink {
		r.Fix = looseByLink
	}
	switch {
	case len(strict) == 0:
		return pass("not strict")
	case w.Network.StrictFails:
		r.Status = Fail
		return r
	case len(uplinks) > 1:
		return r
	default:
		return pass("strict, with a single network")
	}
}

// looseByLink is the hint for plugins that set the value for all links themselves, or do not
// accept another one.
const looseByLink = "set net.ipv4.conf.all.rp_filter = 0 in a file of /etc/sysctl.d, and net.ipv4.conf.LINK.rp_filter = 2 for each link that needs it, then run sysctl --system"

// judgeLooseForAll fails for plugins that exit if all links are loose.
func judgeLooseForAll(_ *facts.Facts, w *Want, at moment) Result {
	value, line := at("all", facts.RPFilterParameter)
	if !w.Network.LooseForAllFails || value != 2 {
		return pass("not loose for all links")
	}
	return Result{Fail, "loose for all links" + inBrackets(addLine(nil, line)), "0 or 1 for all: otherwise " + w.Network.Plugin + " does not start", looseByLink}
}

var arpSysctl = Check{
	ID: "arp-sysctl", Title: "Host answers ARP requests for its addresses", Source: "replicatedhq/embedded-cluster; kernel documentation: ip-sysctl",
	Breaks: "Neighbors get no ARP reply for addresses of the host, such as those of a load balancer or a Service.",
	Needs:  []string{"filtering", "links", "sysctls"}, Run: judgeARP,
}

func judgeARP(f *facts.Facts, _ *Want) Result {
	return nowAndBoot(judgeARPAt(f, f.Present), judgeARPAt(f, f.AtBoot), f.SetAtBoot(facts.ARPFilterParameter, facts.ARPIgnoreParameter))
}

func judgeARPAt(f *facts.Facts, at moment) Result {
	var found, lines []string
	for _, name := range f.Uplinks() {
		for _, parameter := range []string{facts.ARPFilterParameter, facts.ARPIgnoreParameter} {
			if value, line := at(name, parameter); value > 0 {
				found, lines = append(found, fmt.Sprintf("%s = %d on %s", parameter, value, name)), addLine(lines, line)
			}
		}
	}
	if len(found) > 0 {
		return Result{Warn, strings.Join(found, ", ") + inBrackets(lines), "0",
			"set net.ipv4.conf.LINK.arp_ignore = 0 and arp_filter = 0, unless a load balancer in direct-return mode needs them on its real servers"}
	}
	return pass("arp_filter and arp_ignore are 0")
}
