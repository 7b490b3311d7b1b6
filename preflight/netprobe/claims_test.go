package netprobe

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// claimOf is one in the report of a host.
func claimOf(host int, address, mac string, count int) *Report {
	return &Report{Claims: []Claim{{netip.MustParseAddr(address), "02:00:00:00:00:01", mac, count}}, Self: host, Identity: Identity{MACs: []string{"02:00:00:00:00:0" + string(rune('a'+host))}}}
}

// TestClaims: one answer is no finding, a proxy warns, and reports cannot claim other addresses.
func TestClaims(t *testing.T) {
	const thief, other = "02:00:00:00:00:99", "02:00:00:00:00:98"
	hit := map[int]*VIP{0: {Hits: map[int]int{0: 2}}}
	for name, test := range map[string]struct {
		reports []*Report
		vips    map[int]*VIP
		want    []Severity
		says    string
	}{
		"nothing":    {[]*Report{{}, {}}, nil, nil, ""},
		"one answer": {[]*Report{claimOf(0, "10.0.0.1", thief, 1), {}}, nil, nil, ""},
		"a device": {
			[]*Report{claimOf(0, "10.0.0.1", thief, 5), {}}, nil, []Severity{Stops}, "network: another device, " + thief + ", also has the address 10.0.0.1 of 02:00:00:00:00:01",
		},
		"another host": {
			[]*Report{claimOf(0, "10.0.0.1", "02:00:00:00:00:0b", 5), claimOf(1, "10.0.0.1", thief, 1)}, nil, []Severity{Stops}, "hosts: another device, 02:00:00:00:00:0b (b)",
		},
		"a proxy":                        {[]*Report{claimOf(0, "10.0.0.1", thief, 5), claimOf(1, "10.0.0.2", thief, 5)}, nil, []Severity{Warns}, "answers ARP in place of these hosts"},
		"a load balancer":                {[]*Report{claimOf(0, "10.0.0.5", thief, 5), claimOf(1, "10.0.0.5", thief, 5)}, hit, nil, ""},
		"two devices with its address":   {[]*Report{claimOf(0, "10.0.0.5", thief, 5), claimOf(1, "10.0.0.5", other, 5)}, hit, []Severity{Stops}, "several devices have the load balancer's address"},
		"another address":                {[]*Report{claimOf(0, "10.0.0.5", thief, 5), claimOf(1, "10.0.0.6", other, 5)}, hit, nil, ""},
		"a device in place of it":        {[]*Report{claimOf(0, "10.0.0.5", thief, 5), {}}, map[int]*VIP{0: {}}, nil, ""}, // TestImposter
		"an API server runs: not tested": {[]*Report{claimOf(0, "10.0.0.5", thief, 5), {}}, nil, nil, ""},
		"no MAC address":                 {[]*Report{claimOf(0, "10.0.0.1", "<script>", 5), {}}, nil, nil, ""},
	} {
		m := &Matrix{Hosts: []Host{{Name: "a", Address: netip.MustParseAddr("10.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("10.0.0.2")}}, VIPs: test.vips}
		m.Claims, m.cards = claims(test.reports), cards(test.reports)
		m.in = Korean
		for _, f := range m.claimed() {
			assert.NotRegexp(t, `[a-z]{3,} [a-z]{3,}`, strings.NewReplacer("private VLAN", "", "local proxy ARP", "").Replace(f.What+f.Fix), name)
		}
		m.in = English
		var got []Severity
		var text strings.Builder
		for _, f := range m.claimed() {
			got = append(got, f.Severity)
			text.WriteString(string(f.Owner) + ": " + f.What)
		}
		assert.Equal(t, test.want, got, name)
		assert.Contains(t, text.String(), test.says, name)
	}
}

// TestImposter: the finding about a load balancer without an answer also names the device that has its
// address. A host of the plan with the address, as with direct server return, is no second finding.
func TestImposter(t *testing.T) {
	const thief, server = "02:00:00:00:00:99", "02:00:00:00:00:0b"
	direct := VIP{Hits: map[int]int{1: 2}, MAC: server, Owners: []string{server}, Local: &LocalVIP{Interface: "lo", Direct: true}}
	for name, test := range map[string]struct {
		macs []string
		vip  VIP
		want string
	}{
		"no reply":          {[]string{thief}, VIP{Failures: map[Result]int{NoReply: 3}}, "balancer: the load balancer does not answer these hosts (no reply), use "},
		"without a device":  {nil, VIP{Failures: map[Result]int{NoReply: 3}}, "balancer: the load balancer does not answer these hosts (no reply), use "},
		"another service":   {[]string{thief}, VIP{Failures: map[Result]int{WithoutTLS: 3}, Said: "HTTP"}, "balancer: another service answers these hosts without TLS (HTTP), use "},
		"a server with ARP": {[]string{thief, server}, direct, "hosts: these hosts have the load balancer's address on lo"},
	} {
		m := &Matrix{Hosts: []Host{{Name: "a", Address: netip.MustParseAddr("10.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("10.0.0.2"), ControlPlane: true}}}
		m.VIPs = map[int]*VIP{1: &test.vip}
		for _, mac := range test.macs {
			m.Claims = append(m.Claims, HostClaim{0, Claim{Address: netip.MustParseAddr("10.0.0.5"), MAC: mac, Count: 5}})
		}
		found := m.Findings(Needs{})
		require.Len(t, found, 1, name)
		assert.Contains(t, string(found[0].Owner)+": "+found[0].What+", "+found[0].Fix, test.want, name)
		assert.Equal(t, len(test.macs) == 1, strings.Contains(found[0].Fix, "the device "+thief+" has the address"), name)
		m.in = Korean
		found = m.Findings(Needs{})
		require.Len(t, found, 1, name)
		assert.NotRegexp(t, `[a-z]{3,} [a-z]{3,}`, found[0].What+found[0].Fix, name)
		assert.Equal(t, len(test.macs) == 1, strings.Contains(found[0].Fix, thief), "%s: %s", name, found[0].Fix)
	}
}
