package netprobe

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestTeams: each fault has exactly one team.
func TestTeams(t *testing.T) {
	needs := Needs{TCP: []Port{{6443, "kube-apiserver", ControlPlanes, All}, {2380, "etcd peers", ControlPlanes, ControlPlanes}}, VXLAN: 8472}
	of := func(v Verdict) *Matrix {
		m := pairOf(v)
		m.Hosts[0].ControlPlane, m.Hosts[1].ControlPlane = true, true
		return m
	}
	port := func(state State) *Matrix { return of(Verdict{Kind: TCP, Port: 6443, State: state}) }
	with := func(change func(m *Matrix)) *Matrix {
		m := port(Open)
		change(m)
		return m
	}
	same := func(what string) *Matrix {
		return with(func(m *Matrix) { m.Duplicates = []Duplicate{{what, "x", []int{0, 1}}} })
	}
	path := func(p Path) *Matrix {
		p.From, p.To = 0, 1
		return with(func(m *Matrix) { m.Paths = []Path{p} })
	}
	lossy, burst := Train{Sent: 1000, Arrived: 900}, Train{Sent: 1000, Arrived: 300, Offered: 20e6, Carried: 6e6}
	slow := Stream{Sent: 1e6, Took: 10 * time.Second}
	address := netip.MustParseAddr("10.0.0.9")
	for name, test := range map[string]struct {
		m    *Matrix
		want Team
	}{
		"a closed port":               {port(NetworkCloses), NetworkTeam},
		"the host's own firewall":     {port(HostCloses), HostTeam},
		"the sender's own firewall":   {port(SenderCloses), HostTeam},
		"answers lost":                {port(AnswersLost), NetworkTeam},
		"answers blocked":             {port(AnswersBlocked), HostTeam},
		"answers kept":                {port(AnswersKept), HostTeam},
		"one direction":               {port(OneSided), NetworkTeam},
		"a device answers":            {port(Replaced), NetworkTeam},
		"data lost":                   {port(DataLost), NetworkTeam},
		"TLS closed":                  {port(TLSCloses), NetworkTeam},
		"TLS terminated":              {port(Inspected), NetworkTeam},
		"unknown":                     {port(Unknown), HostTeam},
		"checksums of a virtual card": {of(Verdict{Kind: VXLANTCP, Port: 8472, State: Damaged}), HypervisorTeam},
		"a narrow tunnel":             {of(Verdict{Kind: VXLANTCP, Port: 8472, State: Narrow}), NetworkTeam},
		"a narrow path":               {of(Verdict{Kind: Size, State: Narrow, Size: 1400, MTU: 1500}), NetworkTeam},
		"cloned MAC address":          {same("MAC address"), HypervisorTeam},
		"cloned product_uuid":         {same("product_uuid"), HypervisorTeam},
		"cloned machine-id":           {same("machine-id"), HostTeam},
		"the same host name":          {same("host name"), HostTeam},
		"clocks":                      {with(func(m *Matrix) { m.Skews = []Skew{{From: 0, To: 1, Ahead: time.Minute}} }), HostTeam},
		"no report":                   {with(func(m *Matrix) { m.Missing = []int{1} }), HostTeam},
		"no capture":                  {with(func(m *Matrix) { m.ListenErrors = []HostListenError{{0, ListenError{Layer: AtInterface}}} }), HostTeam},
		"source NAT": {with(func(m *Matrix) {
			m.Rewritten = []Rewritten{{From: 0, To: 1, Protocol: "TCP", Left: m.Hosts[0].Address, Arrived: address}}
		}), NetworkTeam},
		"another source by route": {with(func(m *Matrix) { m.Rewritten = []Rewritten{{From: 0, To: 1, Protocol: "TCP", Left: address}} }), HostTeam},
		"lost flows":              {path(Path{TCP: &Flows{Port: 6443, Tried: 16, Lost: []int{40001}}}), NetworkTeam},
		"lost packets":            {path(Path{Trains: []Train{lossy, lossy}}), NetworkTeam},
		"a policer":               {path(Path{Bursts: []Train{burst, burst}}), NetworkTeam},
		"a slow path":             {path(Path{Streams: []Stream{slow, slow}}), NetworkTeam},
		"far members of etcd":     {path(Path{Latency: &Latency{Median: time.Second}}), NetworkTeam},
		"an address on two machines": {with(func(m *Matrix) {
			m.Claims = []HostClaim{{0, Claim{Address: m.Hosts[0].Address, Own: "aa:bb:cc:dd:ee:01", MAC: "aa:bb:cc:dd:ee:02", Count: 5}}}
		}), NetworkTeam},
		"the load balancer is silent": {with(func(m *Matrix) { m.VIPs = map[int]*VIP{0: {Failures: map[Result]int{NoReply: 3}}, 1: {}} }), BalancerTeam},
	} {
		found := problems(test.m, needs)
		if assert.NotEmpty(t, found, name) {
			for _, f := range found {
				assert.Equal(t, test.want, f.Owner, "%s: %s", name, f.What)
			}
		}
	}
}

// problems returns the findings that are not notes.
func problems(m *Matrix, n Needs) (found []Finding) {
	for _, f := range m.Findings(n) {
		if f.Severity != Notes {
			found = append(found, f)
		}
	}
	return found
}

// TestTeamOnPage: the page and its text for a terminal name the team of each change.
func TestTeamOnPage(t *testing.T) {
	for language, want := range map[Language]string{English: "network team", Korean: "네트워크 팀"} {
		p := &Page{Language: language}
		p.Measure(pairOf(Verdict{Kind: TCP, Port: 6443, State: NetworkCloses}), Needs{TCP: []Port{{6443, "kube-apiserver", ControlPlanes, All}}})
		var html, text strings.Builder
		assert.NoError(t, p.HTML(&html))
		assert.NoError(t, p.Text(&text))
		assert.Contains(t, html.String(), "<td>"+want+"</td>")
		assert.Contains(t, text.String(), language.Say("Owner")+": "+want+")")
	}
}
