package agent

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/preflight/netprobe"
)

// intruder adds a device with an address, and answers of this device win no race: both answer.
func (n *network) intruder(address string) string {
	n.t.Helper()
	space := n.space(len(n.hosts) + 10)
	n.run("", "ip", "netns", "add", space)
	n.t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", space).Run() })
	n.run("", "ip", "link", "add", "px", "netns", n.space(-1), "type", "veth", "peer", "name", "eth0", "netns", space)
	n.run("", "ip", "-n", n.space(-1), "link", "set", "px", "master", "br0", "up")
	n.run("", "ip", "-n", space, "address", "add", address+"/16", "dev", "eth0")
	n.run("", "ip", "-n", space, "link", "set", "eth0", "up")
	out, err := exec.Command("ip", "-n", space, "-brief", "link", "show", "eth0").Output()
	require.NoError(n.t, err)
	return strings.Fields(string(out))[2]
}

// TestDuplicateAddress: a device with the address of a host is found with both MAC addresses. The
// other hosts have no finding.
func TestDuplicateAddress(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	mac := n.intruder("10.99.0.1")
	m := n.matrix(n.plan())
	require.Len(t, m.Claims, 1)
	text := fmt.Sprint(m.Findings(netprobe.Needs{}))
	assert.Contains(t, text, "{fail duplicates network another device, "+mac+", also has the address 10.99.0.1 of ")
	assert.NotContains(t, text, "10.99.0.2 of ")
}

// TestNamedBalancer: the hosts look for other devices with the address of the endpoint's name.
func TestNamedBalancer(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	dir := filepath.Join("/etc/netns", n.space(0))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts"), []byte("10.99.0.77 api.test\n"), 0o644))
	mac := n.intruder("10.99.0.77")
	plan := n.plan()
	plan.VXLAN, plan.VIP, plan.Patience = nil, "api.test:6443", 1
	m := n.matrix(plan)
	require.Len(t, m.Claims, 1)
	assert.Equal(t, 0, m.Claims[0].Host)
	assert.Equal(t, mac, m.Claims[0].MAC)
	assert.Equal(t, "10.99.0.77", m.Claims[0].Address.String())
}

// TestSecondCard: a host with two cards in one network answers its own probes.
func TestSecondCard(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	n.run("", "ip", "link", "add", "p9", "netns", n.space(-1), "type", "veth", "peer", "name", "eth1", "netns", n.space(0))
	n.run("", "ip", "-n", n.space(-1), "link", "set", "p9", "master", "br0", "up")
	n.run("", "ip", "-n", n.space(0), "address", "add", "10.99.1.1/16", "dev", "eth1")
	n.run("", "ip", "-n", n.space(0), "link", "set", "eth1", "up")
	plan := n.plan()
	plan.VXLAN = nil
	assert.Empty(t, n.matrix(plan).Claims)
}

// TestReportIsBounded: a hostile device can use any number of MAC addresses.
func TestReportIsBounded(t *testing.T) {
	r := &record{Report: &netprobe.Report{}}
	for i := range 1000 {
		r.claimed(netprobe.Claim{Address: netip.MustParseAddr("10.0.0.1"), MAC: net.HardwareAddr{2, 0, 0, 0, byte(i >> 8), byte(i)}.String()})
	}
	assert.Len(t, r.Claims, netprobe.MaxClaims)
}

// FuzzARP: only complete messages for IPv4 on Ethernet have a sender.
func FuzzARP(f *testing.F) {
	own := net.HardwareAddr{2, 0, 0, 0, 0, 1}
	probe := arpProbe(own, netip.MustParseAddr("10.0.0.1"))
	f.Add(probe)
	f.Add(probe[:20])
	f.Fuzz(func(t *testing.T, b []byte) {
		mac, address, ok := arpSender(b)
		if ok && (len(mac) != 6 || !address.Is4() || address.IsUnspecified()) {
			t.Errorf("%s has %s", mac, address)
		}
	})
	if _, _, ok := arpSender(probe); ok || len(probe) != arpSize {
		f.Error("a probe claims an address")
	}
}
