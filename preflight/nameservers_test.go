package preflight

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/preflight/facts"
)

func answers(servers ...facts.NameServer) *facts.Facts {
	return &facts.Facts{Asked: facts.Asked{NameServers: facts.NameAnswers{Outcome: facts.OutcomeOf(nil), Servers: servers}}}
}

func knows(address, name string, addresses ...string) facts.NameServer {
	s := facts.NameServer{Address: address, Names: map[string][]netip.Addr{name: {}}}
	for _, a := range addresses {
		s.Names[name] = append(s.Names[name], netip.MustParseAddr(a))
	}
	return s
}

func TestChecksOfNameServers(t *testing.T) {
	const none = "no answer"
	wildcard := answers(facts.NameServer{Address: "10.0.0.53"})
	wildcard.Asked.NameServers.Wildcards = []facts.Wildcard{{Domain: "bank.example", Server: "10.0.0.53", Address: netip.MustParseAddr("10.9.9.9")}}
	const name = "k8s.bank.example"
	want := Want{EndpointHost: name, PodSubnet: "10.244.0.0/16", ServiceSubnet: "10.96.0.0/16", OtherAddresses: []string{name, "10.0.0.11"}}
	managed := want
	managed.Managed = true
	inFile := &facts.Facts{Hosts: []facts.HostsEntry{{Address: "10.0.0.5", Names: []string{"api", name}}}}
	runChecks(t, []checkTest{
		{"all answer", nameServers, answers(facts.NameServer{Address: "10.0.0.53"}, facts.NameServer{Address: "10.0.1.53"}), Want{}, Pass, "10.0.0.53, 10.0.1.53"},
		{"one is dead", nameServers, answers(facts.NameServer{Address: "10.0.0.53"}, facts.NameServer{Address: "10.0.1.53", UDP: none, TCP: none}), Want{},
			Warn, "10.0.1.53: no answer, neither by UDP nor by TCP"},
		{"one without TCP", nameServers, answers(facts.NameServer{Address: "10.0.0.53", TCP: none}), Want{}, Warn, "no answer by TCP; it answers by UDP"},
		{"one without UDP", nameServers, answers(facts.NameServer{Address: "10.0.0.53", UDP: none}), Want{}, Warn, "by UDP; it answers by TCP"},
		{"different errors", nameServers, answers(facts.NameServer{Address: "10.0.0.53", UDP: none, TCP: "connection refused"}), Want{}, Warn, "no answer by UDP, connection refused by TCP"},
		{"one refuses", nameServers, answers(facts.NameServer{Address: "10.0.0.53", Refuses: true}), Want{}, Warn, "refuses every question"},
		{"a wildcard only warns", nameServers, wildcard, Want{}, Warn, "for every name in bank.example"},
		{"CoreDNS does not forward", nameServers, wildcard, Want{NoDNS: true}, Skip, ""},
		{"a survey", nameServers, &facts.Facts{}, Want{}, Skip, "not asked"},
		{"no server", nameServers, answers(), Want{}, Skip, "none"},
		{"an address", endpointName, answers(), Want{EndpointHost: "10.0.0.5"}, Skip, "is an address"},
		{"a line of the file", endpointName, inFile, want, Pass, "10.0.0.5 in /etc/hosts"},
		{"a server of the site", endpointName, answers(knows("10.0.0.53", name, "10.0.0.5")), want, Pass, "from 10.0.0.53"},
		{"no address", endpointName, answers(knows("10.0.0.53", name)), want, Fail, "has no address"},
		{"no address, in a cluster", endpointName, answers(knows("10.0.0.53", name)), managed, Warn, "has no address"},
		{"no answer", endpointName, answers(facts.NameServer{Address: "10.0.0.53", UDP: none, TCP: none}), want, Fail, "has no address"},
		{"one of two knows it", endpointName, answers(knows("10.0.0.53", name, "10.0.0.5"), knows("10.0.1.53", name)), want, Warn, "10.0.0.53 knows k8s.bank.example, 10.0.1.53 does not"},
		{"one of two is dead", endpointName, answers(knows("10.0.0.53", name, "10.0.0.5"), facts.NameServer{Address: "10.0.1.53", UDP: none}), want, Pass, ""},
		{"a Service of the cluster", endpointName, answers(knows("10.96.0.10", name, "10.0.0.5")), want, Warn, "only 10.96.0.10 knows"},
		{"a node", endpointName, answers(knows("10.0.0.11", name, "10.0.0.5")), want, Warn, "only 10.0.0.11 knows"},
		{"a survey without answers", endpointName, &facts.Facts{}, want, Skip, "not asked"},
		{"the registry's name in the subnet", cidrOverlap, answers(knows("10.0.0.53", "harbor.bank.example", "10.244.7.7")),
			Want{PodSubnet: "10.244.0.0/16", SiteRegistry: "harbor.bank.example:8443/airgap"}, Fail, "overlaps the site registry harbor.bank.example 10.244.7.7/32"},
		{"the endpoint's name in the subnet", cidrOverlap, answers(knows("10.0.0.53", name, "10.96.3.4")), want, Fail, "overlaps the address k8s.bank.example 10.96.3.4/32"},
		{"the name server behind systemd-resolved in the subnet", cidrOverlap, &facts.Facts{Resolv: facts.Resolv{Nameservers: []string{"127.0.0.53"}, Upstream: []string{"10.244.0.53"}}}, want,
			Fail, "overlaps the name server 10.244.0.53/32"},
		{"a branch in the subnet", cidrOverlap, answers(), Want{PodSubnet: "10.244.0.0/16", SiteRanges: []string{"10.20.0.0/16", "10.128.0.0/9"}}, Fail, "overlaps network.siteRanges 10.128.0.0/9"},
		{"a branch elsewhere", cidrOverlap, answers(), Want{PodSubnet: "10.244.0.0/16", SiteRanges: []string{"10.20.0.0/16"}}, Pass, ""},
		{"a name elsewhere", cidrOverlap, answers(knows("10.0.0.53", name, "10.0.0.5")), want, Pass, ""},
	})
}

// TestSiteNames: all names of the site's systems are looked up for the comparison with the subnets.
func TestSiteNames(t *testing.T) {
	w := Want{EndpointHost: "k8s.bank.example", OtherAddresses: []string{"10.0.0.11"}, SiteRegistry: "harbor.bank.example:8443/airgap"}
	got := w.SiteNames(&facts.Facts{Time: facts.Time{Servers: []string{"ntp.bank.example"}}})
	assert.Equal(t, []string{"k8s.bank.example", "10.0.0.11", "harbor.bank.example", "ntp.bank.example"}, got)
}

// TestOwnerOfNames: findings about name servers name the DNS team, in the line and for programs.
func TestOwnerOfNames(t *testing.T) {
	f := answers(facts.NameServer{Address: "10.0.0.53"}, facts.NameServer{Address: "10.0.1.53", Refuses: true})
	f.Asked.NameServers.Wildcards = []facts.Wildcard{{Domain: "bank.example", Server: "10.0.0.53", Address: netip.MustParseAddr("10.9.9.9")}}
	r, err := Run(t.Context(), f, Want{EndpointHost: "k8s.bank.example"}, Choice{Only: []string{nameServers.ID, endpointName.ID}})
	assert.NoError(t, err)
	for _, e := range r.Results {
		assert.Equal(t, []string{"dns"}, e.Owners, e.ID)
		for line := range strings.SplitSeq(e.Found, "\n") {
			assert.True(t, strings.HasSuffix(line, "(owner: DNS team)"), line)
		}
	}
	r, err = Run(t.Context(), answers(facts.NameServer{Address: "10.0.0.53"}), Want{}, Choice{Only: []string{nameServers.ID}})
	assert.NoError(t, err)
	assert.Empty(t, r.Results[0].Owners)
}
