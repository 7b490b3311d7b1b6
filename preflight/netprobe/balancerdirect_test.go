package netprobe

import (
	"net/netip"
	"regexp"
	"testing"
)

// TestBalancerInKorean: all texts of findings about the load balancer have a Korean form.
func TestBalancerInKorean(t *testing.T) {
	hosts := []Host{{Name: "a", ControlPlane: true}, {Name: "b", ControlPlane: true}, {Name: "c", ControlPlane: true}}
	local := &LocalVIP{Interface: "lo", Direct: true}
	quiet := &LocalVIP{Interface: "lo", Direct: true, ARPIgnore: 1}
	stall := []Transfer{{To: 1, Tried: 2, Failed: 2}, {To: 2, Tried: 2, Failed: 2, Sending: 2, Unacked: 2}, {To: 0, Tried: 2, Failed: 2, Sending: 1}}
	always := &VIP{Hits: map[int]int{0: 9}}
	for name, m := range map[string]*Matrix{
		"direct": {VIPs: map[int]*VIP{0: {Local: local, MAC: "x", Owners: []string{"x"}}, 1: {Local: quiet, MAC: "y", Owners: []string{"z"}}, 2: {MAC: "z"}}},
		"two":    {VIPs: map[int]*VIP{0: {Local: &LocalVIP{}, MAC: "x", Owners: []string{"x", "y"}}, 1: {Local: &LocalVIP{}, MAC: "y"}}},
		"faults": {
			VIPs: map[int]*VIP{
				0: {Failures: map[Result]int{TerminatesTLS: 1, WithoutTLS: 1}},
				1: {Small: map[int]int{0: 1}, Failures: map[Result]int{NoHandshake: 4}},
				2: {Hits: map[int]int{1: 2}, Transfers: stall},
			},
			Behind: map[int]*Behind{0: {Proxy: map[string]int{"v1": 1}}},
		},
		"persistence": {VIPs: map[int]*VIP{0: always, 1: {Hits: map[int]int{1: 9}}}},
		"standby":     {VIPs: map[int]*VIP{0: always}, Behind: map[int]*Behind{1: {Checks: map[netip.Addr]int{{}: 2}}}},
		"disabled":    {VIPs: map[int]*VIP{0: {Hits: map[int]int{0: 2}}}, Behind: map[int]*Behind{1: {Checks: map[netip.Addr]int{{}: 2}}}},
		"IPv6":        {VIPs: map[int]*VIP{0: {IPv6: []netip.Addr{netip.IPv6Loopback()}}}},
		"idle": {
			VIPs: map[int]*VIP{0: {Idle: &Idle{Result: NoReply, Unacked: true}}, 1: {Idle: &Idle{Result: NoReply}}}, Behind: map[int]*Behind{0: {Idle: []IdleServer{{From: 0}, {From: 1}}}},
		},
	} {
		m.Hosts, m.in = hosts, Korean
		found := append(m.balancer(), m.idle()...)
		if len(found) == 0 {
			t.Errorf("%s: no finding", name)
		}
		for _, f := range found {
			if english := regexp.MustCompile(`[a-z]{3,} [a-z]{3,} [a-z]{3,}`).FindString(f.What + f.Fix); english != "" {
				t.Errorf("%s: %q in %q, %q", name, english, f.What, f.Fix)
			}
		}
	}
}
