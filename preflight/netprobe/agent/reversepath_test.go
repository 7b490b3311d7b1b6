package agent

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/preflight/netprobe"
)

// TestReversePathFilter: a host whose route back uses another card drops the packets in strict mode. The
// finding names the sysctl with its value and link, and a packet filter that drops the same packets later
// does not hide it.
func TestReversePathFilter(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 3)
	var card *net.Interface
	inside(t, n, 1, func() (err error) { card, err = net.InterfaceByName("eth0"); return err })
	n.run("", "ip", "-n", n.space(0), "neigh", "replace", "10.99.0.2", "lladdr", card.HardwareAddr.String(), "dev", "eth0", "nud", "permanent")
	n.run("", "sh", "-c", fmt.Sprintf(`set -e
ip -n %[1]s link add second type veth peer name other
ip -n %[1]s link set second up
ip -n %[1]s link set other up
ip -n %[1]s route add 10.99.0.1/32 dev second
ip netns exec %[1]s sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.eth0.rp_filter=1`, n.space(1)))
	n.shut(1, "ip saddr 10.99.0.1 tcp dport 10250 drop")
	plan := n.plan()
	m := n.matrix(plan)

	const rule = "sysctl net.ipv4.conf.eth0.rp_filter = 1; packets arrive at eth0, and the route back to 10.99.0.1 goes through second"
	for _, port := range []int{6443, 10250} {
		v := result(t, m, 0, 1, netprobe.TCP, port)
		assert.Equal(t, netprobe.HostCloses, v.State, port)
		assert.Equal(t, rule, v.Rule, port)
		assert.True(t, v.Reverse, port)
	}
	assert.Equal(t, netprobe.Open, result(t, m, 2, 1, netprobe.TCP, 6443).State, "its route back uses the same card")
	var found []string
	for _, f := range m.Findings(netprobe.Needs{TCP: plan.TCP, VXLAN: 8472, OpensFirewall: true}) {
		if f.Owner == netprobe.HostTeam && f.Severity == netprobe.Stops && strings.Contains(f.What, "TCP 6443") {
			found = append(found, f.What+": "+strings.Join(f.Between, "; ")+": "+f.Fix)
		}
	}
	if assert.Len(t, found, 1) {
		assert.Contains(t, found[0], "(reverse path filter): "+rule)
		assert.Contains(t, found[0], "from h0 (10.99.0.1) to h1 (10.99.0.2)")
		assert.Contains(t, found[0], "net.ipv4.conf.LINK.rp_filter = 2 (loose)")
	}
}

// TestCounter reads the counter of the kernel.
func TestCounter(t *testing.T) {
	const text = "TcpExt: SyncookiesSent IPReversePathFilter TW\nTcpExt: 0 17 3\nIpExt: InNoRoutes IPReversePathFilter\nIpExt: 1 2\n"
	assert.Equal(t, 17, tcpExt(text, "IPReversePathFilter"))
	assert.Equal(t, 0, tcpExt(text, "Other"))
	assert.Equal(t, 0, tcpExt("TcpExt: A B IPReversePathFilter\nTcpExt: 1\n", "IPReversePathFilter"))
	assert.Equal(t, "second", device("10.99.0.1 from 10.99.0.2 dev second uid 0\n    cache"))
	assert.Empty(t, device("unreachable 10.99.0.1 dev"))
}
