package verify

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/verify/nodereport"
)

func TestHostNetwork(t *testing.T) {
	type firewall = nodereport.Firewall
	for name, tc := range map[string]struct {
		change func(*nodereport.HostNetwork)
		object string
		saw    string
	}{
		"as at the installation": {func(*nodereport.HostNetwork) {}, "", ""},
		"no such address":        {func(n *nodereport.HostNetwork) { n.Link = "" }, "Node w1", "no interface has 10.0.0.21"},
		"an address from DHCP": {func(n *nodereport.HostNetwork) { n.DHCP = "10.0.0.21 on ens192 is from DHCP: /f line 3: method=auto" }, "Node w1, ens192",
			"10.0.0.21 on ens192 is from DHCP: /f line 3: method=auto"},
		"firewalld is off":       {func(n *nodereport.HostNetwork) { n.Firewall = &firewall{Opened: true} }, "Node w1, firewalld", "it does not run"},
		"firewalld was started":  {func(n *nodereport.HostNetwork) { n.Firewall = &firewall{Running: true} }, "Node w1, firewalld", "it runs without airgap's openings"},
		"firewalld never ran":    {func(n *nodereport.HostNetwork) { n.Firewall = &firewall{} }, "", ""},
		"firewalld starts later": {func(n *nodereport.HostNetwork) { n.Firewall = &firewall{Later: true} }, "Node w1, firewalld", "the next boot starts it, without airgap's openings"},
		"the site opens ports":   {func(n *nodereport.HostNetwork) { n.Firewall = nil }, "", ""},
		"an opening is lost": {
			func(n *nodereport.HostNetwork) { n.Firewall.Missing = []string{"permanent, zone public: rich-rule=x"} }, "Node w1, firewalld", "missing: permanent, zone public: rich-rule=x"},
		"another name server":  {func(n *nodereport.HostNetwork) { n.NameServers = []string{"10.0.0.3"} }, "Node w1, Pod coredns-1", "it asks 10.0.0.2, 10.0.0.1"},
		"no name server now":   {func(n *nodereport.HostNetwork) { n.NameServers = nil }, "Node w1, Pod coredns-1", "it asks 10.0.0.2, 10.0.0.1"},
		"no name server then":  {func(n *nodereport.HostNetwork) { n.DNSPods[0].NameServers = nil }, "Node w1, Pod coredns-1", "it asks none"},
		"no CoreDNS pod there": {func(n *nodereport.HostNetwork) { n.DNSPods, n.NameServers = nil, nil }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := nodereport.HostNetwork{
				Address: "10.0.0.21", Link: "ens192", Firewall: &firewall{Running: true, Opened: true}, NameServers: []string{"10.0.0.1", "10.0.0.2"},
				DNSPods: []nodereport.DNSPod{{Name: "coredns-1", NameServers: []string{"10.0.0.2", "10.0.0.1"}}},
			}
			tc.change(&n)
			var want []Finding
			if tc.saw != "" {
				want = []Finding{{Object: tc.object, Saw: tc.saw}}
			}
			v := seen(t, node("w1", corev1.ConditionTrue), report(t, "w1", nodereport.Report{Network: &n}))
			wantSaw(t, hostNetwork().judge(v), want...)
		})
	}
}

func TestHostLinks(t *testing.T) {
	links := &nodereport.HostLinks{Bonds: []nodereport.Bond{{Name: "bond0", Members: []nodereport.BondMember{{Name: "eth0", Up: true}, {Name: "eth1"}}}}}
	v := seen(t, node("w1", corev1.ConditionTrue), report(t, "w1", nodereport.Report{HostLinks: links}))
	wantSaw(t, hostLinks().judge(v), Finding{Object: "Node w1, bond0", Saw: "member eth1 is down: 1 of 2 members work, so the next failure stops the network of the node"})
}
