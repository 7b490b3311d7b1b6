package agent

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/preflight/netprobe"
)

// TestAnswersLost: a lost answer is a fault of the network, a blocked answer one of the sender, and
// a packet without an answer one of the receiving host. Each is found in one direction only.
func TestAnswersLost(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 4)
	n.lose(
		"ip saddr 10.99.0.2 ip daddr 10.99.0.1 tcp sport 10250 tcp flags & (syn | ack) == syn | ack drop",
		"ip saddr 10.99.0.2 ip daddr 10.99.0.1 udp sport 6081 drop",
		"ip saddr 10.99.0.3 ip daddr 10.99.0.1 tcp sport 6443 drop",
		// An echo reply or a datagram from the echo port inside the VXLAN.
		"ip saddr 10.99.0.2 ip daddr 10.99.0.1 udp dport 8472 @th,312,8 1 @th,400,8 0 drop",
		"ip saddr 10.99.0.2 ip daddr 10.99.0.1 udp dport 8472 @th,312,8 17 @th,400,16 7 drop",
	)
	n.shut(3, "ip saddr 10.99.0.3 tcp sport 10250 drop", "ip saddr 10.99.0.2 tcp dport 10250 drop")
	n.shut(2, "ip saddr 10.99.0.1 tcp dport 6443 reject with tcp reset", "ip saddr 10.99.0.4 tcp dport 6443 reject with tcp reset")
	n.rules(1, "inet", "output", []string{"ip daddr 10.99.0.4 tcp sport 10250 drop", "ip daddr 10.99.0.4 udp sport 6081 drop", "ip daddr 10.99.0.3 tcp dport 10250 drop"})
	n.rules(0, "inet", "output", []string{"ip daddr 10.99.0.4 udp dport 4789 drop"})
	m := n.matrix(n.plan())
	want := map[netprobe.Verdict]netprobe.State{
		{From: 0, To: 1, Kind: netprobe.TCP, Port: 10250}:     netprobe.AnswersLost,
		{From: 0, To: 1, Kind: netprobe.UDP, Port: 6081}:      netprobe.AnswersLost,
		{From: 0, To: 1, Kind: netprobe.VXLANTCP, Port: 8472}: netprobe.AnswersLost,
		{From: 0, To: 2, Kind: netprobe.TCP, Port: 6443}:      netprobe.AnswersLost, // the host's own RST is lost
		{From: 3, To: 2, Kind: netprobe.TCP, Port: 6443}:      netprobe.HostCloses,
		{From: 3, To: 2, Kind: netprobe.TCP, Port: 10250}:     netprobe.AnswersBlocked,
		{From: 1, To: 3, Kind: netprobe.TCP, Port: 10250}:     netprobe.HostCloses,
		{From: 3, To: 1, Kind: netprobe.TCP, Port: 10250}:     netprobe.AnswersKept,
		{From: 3, To: 1, Kind: netprobe.UDP, Port: 6081}:      netprobe.AnswersKept,
		{From: 1, To: 2, Kind: netprobe.TCP, Port: 10250}:     netprobe.SenderCloses,
		{From: 0, To: 3, Kind: netprobe.VXLANTCP, Port: 4789}: netprobe.SenderCloses,
	}
	only(t, m, want)
	findings := m.Findings(netprobe.Needs{TCP: n.plan().TCP, VXLAN: 8472, OpensFirewall: true})
	for _, want := range []string{
		"{fail ports network TCP 10250 (kubelet) arrives and the host answers, but the answers are lost on the way back [from h0 (10.99.0.1) to h1 (10.99.0.2)] pass the answers back",
		"{fail ports hosts TCP 10250 (kubelet) arrives and the answer comes back, but the sending host's own packet filter blocks it [from h3 (10.99.0.4) to h2 (10.99.0.3)] allow answers",
		"{fail vxlan network VXLAN on UDP 8472 arrives and the host answers, but the answers are lost on the way back [from h0 (10.99.0.1) to h1 (10.99.0.2)]",
		"{fail ports hosts TCP 10250 (kubelet) arrives and passes the host's firewall, but the answer does not leave the receiving host: its own packet filter blocks it, or the next hop",
		"{note ports network UDP 6081 arrives and the host answers",
	} {
		if text := fmt.Sprint(findings); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if _, err := m.Choose(netprobe.Options{Ports: []int{8472}, OpensFirewall: true}); err == nil {
		t.Error("chooses a VXLAN that loses answers")
	}
}

// only checks that the matrix has these results, and all others are open.
func only(t *testing.T, m *netprobe.Matrix, want map[netprobe.Verdict]netprobe.State) {
	t.Helper()
	for _, v := range m.Verdicts {
		state, named := want[netprobe.Verdict{From: v.From, To: v.To, Kind: v.Kind, Port: v.Port}]
		if !named {
			state = netprobe.Open
		}
		if v.State != state {
			t.Errorf("%+v, want %s", v, state)
		}
	}
}

// TestHalfOpen: only connections of hosts of the plan to its ports count.
func TestHalfOpen(t *testing.T) {
	plan := hostPlan{&netprobe.Plan{Hosts: []netprobe.Host{{Address: netip.MustParseAddr("10.99.0.1")}, {Address: netip.MustParseAddr("10.99.0.2")}},
		TCP: []netprobe.Port{{Number: 10250, For: "kubelet", To: netprobe.All, From: netprobe.All}}}}
	const list = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100630A:280A 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100630A:280A 0200630A:C350 03 00000000:00000000 01:00000064 00000001     0        0 0
   2: 0100630A:280A 0200630A:C351 01 00000000:00000000 01:00000064 00000001     0        0 0
   3: 0100630A:0016 0200630A:C350 03 00000000:00000000 01:00000064 00000001     0        0 0
   4: 0100630A:280A 0900630A:C350 03 00000000:00000000 01:00000064 00000001     0        0 0
   5: 01:280A x:y 03
`
	got := plan.halfOpen(strings.NewReader(list))
	if want := []netprobe.Observation{{From: 1, Kind: netprobe.TCP, Port: 10250, Layer: netprobe.HalfOpen}}; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
