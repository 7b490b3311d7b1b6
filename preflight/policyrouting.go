package preflight

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var policyRouting = Check{
	ID: "policy-routing", Title: "Packets to pods are routed by the main table", Source: "airgap: network plugins add their routes to the main table; kernel documentation: vrf",
	Breaks: "Packets to pods take another table and leave by the gateway: answers of this host to pods, NodePorts and probes are lost.",
	Needs:  []string{"rules", "vrfs", "links"}, Run: judgePolicyRouting,
}

// judgePolicyRouting warns: whether a packet takes another table also depends on conditions that a
// check before the installation cannot see, such as marks of other programs.
func judgePolicyRouting(f *facts.Facts, w *Want) Result {
	if w.Managed {
		return skipped("the pod network adds its own rules")
	}
	pods, err := parseSubnets("pod", w.PodSubnet)
	if err != nil {
		return Result{Status: Error, Found: err.Error(), Fix: subnetFix}
	}
	var found, fix, fine []string
	for _, l := range f.Links {
		switch {
		case !slices.Contains(f.VRFs, l.Master):
		case slices.ContainsFunc(l.Addresses, func(a netip.Prefix) bool { return a.Addr().String() == w.NodeAddress }):
			found = append(found, fmt.Sprintf("%s with the node's address %s is in the VRF %s: programs outside of it reach no other node, and whether all programs of the node run inside is not known", l.Name, w.NodeAddress, l.Master))
			fix = append(fix, "take the link out of the VRF (nmcli connection modify NAME connection.controller \"\" connection.port-type \"\"), or put only other links into VRFs")
		default:
			fine = append(fine, l.Name+" is in the VRF "+l.Master)
		}
	}
	own := ownNetwork(f, w.NodeAddress)
	for _, r := range f.Rules {
		switch {
		case r.Table == facts.VRFTables:
		case takesPods(r, pods, own) && !precedes(f.Rules, r, pods):
			found = append(found, "rule "+r.String()+": packets to pods can take table "+r.Table)
			fix = append(fix, fmt.Sprintf("let packets to pods use the main table before this rule: nmcli connection modify NAME +ipv4.routing-rules \"priority %d to %s table 254\", then nmcli connection up NAME", max(1, r.Priority-1), w.PodSubnet))
		default:
			fine = append(fine, "rule "+r.String())
		}
	}
	switch {
	case len(found) > 0:
		slices.Sort(fix)
		return Result{Warn, strings.Join(found, "\n"), "the main table for packets to pods", strings.Join(slices.Compact(fix), "\n")}
	case len(fine) > 0:
		return pass("not for packets to pods: %s", strings.Join(fine, "; "))
	}
	return pass("only the main table")
}

// ownNetwork is the node's address with its network; the zero value if no link has it.
func ownNetwork(f *facts.Facts, address string) netip.Prefix {
	for _, l := range f.Links {
		for _, a := range l.Addresses {
			if a.Addr().String() == address {
				return a
			}
		}
	}
	return netip.Prefix{}
}

// takesPods reports whether a rule leads packets between this node and pods to a table that has a
// route for them. Rules with marks are for packets of other programs.
func takesPods(r facts.Rule, pods []usedRange, own netip.Prefix) bool {
	reaches := func(p netip.Prefix) bool {
		return slices.ContainsFunc(pods, func(s usedRange) bool { return s.prefix.Overlaps(p) })
	}
	switch {
	case r.Table == "main" || r.Other != "" || r.To.IsValid() && !reaches(r.To):
		return false
	case r.From.IsValid() && !reaches(r.From) && (!own.IsValid() || !r.From.Contains(own.Addr())):
		return false
	}
	return slices.ContainsFunc(r.Routes, reaches) || slices.Contains([]string{"unreachable", "blackhole", "prohibit"}, r.Table)
}

// precedes reports whether an earlier rule leads all packets to pods to the main table.
func precedes(rules []facts.Rule, before facts.Rule, pods []usedRange) bool {
	return !slices.ContainsFunc(pods, func(s usedRange) bool {
		return s.prefix.Addr().Is4() && !slices.ContainsFunc(rules, func(r facts.Rule) bool {
			return r.Table == "main" && r.Priority < before.Priority && !r.From.IsValid() && r.Input == "" && r.Other == "" &&
				r.To.IsValid() && r.To.Bits() <= s.prefix.Bits() && r.To.Contains(s.prefix.Addr())
		})
	})
}
