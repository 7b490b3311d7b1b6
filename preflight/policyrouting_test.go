package preflight

import (
	"net/netip"
	"testing"

	"airgap.dev/airgap/preflight/facts"
)

// TestOverlapInOtherTables: the routes of all tables that packets can take are networks of the site. Default routes
// and the networks of links are not among them.
func TestOverlapInOtherTables(t *testing.T) {
	prefix := netip.MustParsePrefix
	host := func(rule facts.Rule, routes ...string) *facts.Facts {
		for _, r := range routes {
			rule.Routes = append(rule.Routes, prefix(r))
		}
		return &facts.Facts{Rules: []facts.Rule{rule}, Links: []facts.Link{{Name: "eth1", Addresses: []netip.Prefix{prefix("10.0.1.11/24")}}}}
	}
	want := Want{PodSubnet: "10.244.0.0/16", ServiceSubnet: "10.96.0.0/16"}
	managed := want
	managed.Managed = true
	from := facts.Rule{Priority: 100, From: prefix("10.0.1.0/24"), Table: "101"}
	to := func(network string) facts.Rule { return facts.Rule{Priority: 100, To: prefix(network), Table: "7"} }
	runChecks(t, []checkTest{
		{"another card's table", cidrOverlap, host(from, "0.0.0.0/0", "10.0.1.0/24", "10.0.1.255/32"), want, Pass, ""},
		{"a branch in another card's table", cidrOverlap, host(from, "0.0.0.0/0", "10.244.7.0/24"), want, Fail, "pod subnet 10.244.0.0/16 overlaps the route in table 101 10.244.7.0/24"},
		{"a branch in a VRF", cidrOverlap, host(facts.Rule{Priority: 1000, Table: facts.VRFTables}, "10.96.4.0/24"), want, Fail, "Service subnet 10.96.0.0/16 overlaps the route in a VRF 10.96.4.0/24"},
		{"a rule for a branch", cidrOverlap, host(to("10.244.7.0/24"), "0.0.0.0/0"), want, Fail, "the route in table 7 10.244.7.0/24"},
		{"a rule for another branch", cidrOverlap, host(to("10.20.0.0/16"), "0.0.0.0/0", "10.244.7.0/24"), want, Pass, ""},
		{"the main table", cidrOverlap, host(facts.Rule{Priority: 100, To: prefix("10.244.0.0/16"), Table: "main"}), want, Pass, ""},
		{"a table of the pod network", cidrOverlap, host(from, "10.244.7.0/24"), managed, Pass, ""},
	})
}

func TestChecksOfPolicyRouting(t *testing.T) {
	prefix := netip.MustParsePrefix
	everything := []netip.Prefix{prefix("0.0.0.0/0")}
	host := func(rules ...facts.Rule) *facts.Facts {
		return &facts.Facts{Rules: rules, VRFs: []string{"mgmt"}, Links: []facts.Link{
			{Name: "eth0", Addresses: []netip.Prefix{prefix("10.0.0.11/24")}}, {Name: "eth1", Addresses: []netip.Prefix{prefix("10.0.1.11/24")}},
		}}
	}
	in := func(link int, master string) *facts.Facts {
		f := host()
		f.Links[link].Master = master
		return f
	}
	want := Want{NodeAddress: "10.0.0.11", PodSubnet: "10.244.0.0/16"}
	managed := want
	managed.Managed = true
	all := facts.Rule{Priority: 100, Table: "7", Routes: everything}
	toMain := facts.Rule{Priority: 50, To: prefix("10.244.0.0/16"), Table: "main"}
	runChecks(t, []checkTest{
		{"no rule", policyRouting, host(), want, Pass, "only the main table"},
		{"another card's network", policyRouting, host(facts.Rule{Priority: 100, From: prefix("10.0.1.0/24"), Table: "101", Routes: everything}), want, Pass, "from 10.0.1.0/24 lookup 101"},
		{"the node's network", policyRouting, host(facts.Rule{Priority: 100, From: prefix("10.0.0.0/24"), Table: "100", Routes: everything}), want, Warn, "packets to pods can take table 100"},
		{"its table has no route for pods", policyRouting, host(facts.Rule{Priority: 100, From: prefix("10.0.0.0/24"), Table: "100", Routes: []netip.Prefix{prefix("10.7.0.0/16")}}), want, Pass, ""},
		{"packets that arrive at a card", policyRouting, host(facts.Rule{Priority: 100, Input: "eth0", Table: "7", Routes: everything}), want, Warn, "iif eth0"},
		{"everything", policyRouting, host(all), want, Warn, "100: from all lookup 7"},
		{"everything, and pods before", policyRouting, host(toMain, all), want, Pass, ""},
		{"everything, and pods later", policyRouting, host(all, facts.Rule{Priority: 200, To: prefix("10.244.0.0/16"), Table: "main"}), want, Warn, ""},
		{"another destination", policyRouting, host(facts.Rule{Priority: 100, To: prefix("10.20.0.0/16"), Table: "7", Routes: everything}), want, Pass, ""},
		{"marked packets", policyRouting, host(facts.Rule{Priority: 100, Other: "fwmark 0x1", Table: "7", Routes: everything}), want, Pass, "fwmark 0x1"},
		{"pods are unreachable", policyRouting, host(facts.Rule{Priority: 6, To: prefix("10.0.0.0/8"), Table: "unreachable"}), want, Warn, "lookup unreachable"},
		{"a running cluster", policyRouting, host(all), managed, Skip, ""},
		{"the node's card in a VRF", policyRouting, in(0, "mgmt"), want, Warn, "eth0 with the node's address 10.0.0.11 is in the VRF mgmt"},
		{"another card in a VRF", policyRouting, in(1, "mgmt"), want, Pass, "eth1 is in the VRF mgmt"},
		{"a bond", policyRouting, in(0, "bond0"), want, Pass, "only the main table"},
		{"pods leave by the node's card", defaultRoute, &facts.Facts{Links: host().Links, Routes: []facts.Route{{To: prefix("0.0.0.0/0"), Gateway: "10.0.0.1", Device: "eth0"}}},
			want, Pass, "10.0.0.1 eth0"},
		{"pods leave by another card", defaultRoute, &facts.Facts{Links: host().Links, Routes: []facts.Route{{To: prefix("0.0.0.0/0"), Gateway: "10.0.1.1", Device: "eth1"}}}, want, Pass,
			"other systems see packets of pods from 10.0.1.11 (eth1), not from 10.0.0.11"},
	})
}
