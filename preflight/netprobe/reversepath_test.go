package netprobe

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestReversePathRule: the filter explains a verdict only if it dropped packets, is on, and the route back to
// the sender leaves through another interface.
func TestReversePathRule(t *testing.T) {
	address := netip.MustParseAddr("10.0.0.1")
	strict := ReversePath{Link: "eth0", Own: 1, Dropped: 4, Ways: []WayBack{{To: 0, Link: "eth1"}, {To: 2}}}
	assert.Equal(t, "sysctl net.ipv4.conf.eth0.rp_filter = 1; packets arrive at eth0, and the route back to 10.0.0.1 goes through eth1", strict.rule(0, address))
	assert.Equal(t, "sysctl net.ipv4.conf.eth0.rp_filter = 1; there is no route back to 10.0.0.1", strict.rule(2, address))
	assert.Empty(t, strict.rule(1, address), "its route uses the same interface")
	all, off, none := strict, strict, strict
	all.All, off.Own, none.Dropped = 2, 0, 0
	assert.Contains(t, all.rule(0, address), "net.ipv4.conf.all.rp_filter = 2;")
	assert.Empty(t, off.rule(0, address))
	assert.Empty(t, none.rule(0, address))
	var unknown *ReversePath
	assert.Empty(t, unknown.rule(0, address))
}

// TestReversePathOfSender: an answer that the sender's reverse path filter drops is not blamed on its packet
// filter, and the team is that of the hosts.
func TestReversePathOfSender(t *testing.T) {
	hosts := []Host{{Name: "a", Address: netip.MustParseAddr("10.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("10.0.0.2")}}
	from := &Report{Self: 0, Hosts: hosts, ReversePath: &ReversePath{Link: "eth0", Own: 1, Dropped: 1, Ways: []WayBack{{To: 1, Link: "eth1"}}}}
	verdicts := pair{from: from, at: &Report{Self: 1, Hosts: hosts}}.reversed([]Verdict{{From: 0, To: 1, Kind: TCP, Port: 6443, State: AnswersBlocked}})
	assert.True(t, verdicts[0].Reverse)
	m := pairOf(verdicts[0])
	found := m.Findings(Needs{TCP: []Port{{6443, "kube-apiserver", ControlPlanes, All}}})
	if assert.Len(t, found, 1) {
		assert.Equal(t, HostTeam, found[0].Owner)
		assert.Contains(t, found[0].What, "the sending host's reverse path filter drops it: sysctl net.ipv4.conf.eth0.rp_filter = 1;")
		assert.Contains(t, found[0].Fix, "on the sending hosts, correct the route back")
	}
}
