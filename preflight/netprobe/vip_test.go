package netprobe

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestSilence: hosts without a reply and hosts with the ICMP message of a router are one finding. Other results
// keep their reasons.
func TestSilence(t *testing.T) {
	for name, test := range map[string]struct {
		a, b Result
		want int
	}{
		"both":             {NoReply, Unreachable, 1},
		"unreachable only": {Unreachable, Unreachable, 1},
		"refused":          {NoReply, Refused, 2},
	} {
		m := pairOf(Verdict{Kind: TCP, Port: 6443, State: Open})
		m.VIPs = map[int]*VIP{0: {Failures: map[Result]int{test.a: 1}}, 1: {Failures: map[Result]int{test.b: 1}}}
		assert.Len(t, m.Findings(Needs{}), test.want, name)
	}
}

// TestBypass: connections that break because two hosts have the load balancer's address are no
// findings beside it.
func TestBypass(t *testing.T) {
	m := pairOf(Verdict{Kind: TCP, Port: 6443, State: Open})
	broken := &VIP{Hits: map[int]int{0: 3, 1: 2}, Failures: map[Result]int{NoReply: 4}, Transfers: []Transfer{{To: 1, Tried: 2, Failed: 2, Sending: 1, Unacked: 1}}}
	m.VIPs = map[int]*VIP{0: broken}
	assert.Len(t, m.Findings(Needs{}), 2)
	for i, mac := range []string{"02:00:00:00:00:01", "02:00:00:00:00:02"} {
		m.Hosts = append(m.Hosts, Host{Name: "h", ControlPlane: true})
		m.VIPs[2+i] = &VIP{MAC: mac, Local: &LocalVIP{Interface: "eth0"}}
		broken.Owners = append(broken.Owners, mac)
	}
	found := m.Findings(Needs{})
	if assert.Len(t, found, 1) {
		assert.Contains(t, found[0].What, "several hosts have the load balancer's address")
	}
}
