package hostlinks

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/verify/nodereport"
)

const inside = "HOSTLINKS_PEER" // the namespace on the other side of the test's link

// TestRealLinks runs TestInside with real interfaces and a real connection tracking table, in a network namespace with
// an interface above a link to another one.
func TestRealLinks(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root creates network namespaces")
	}
	here, peer := fmt.Sprintf("hl%d-h", os.Getpid()), fmt.Sprintf("hl%d-p", os.Getpid())
	t.Cleanup(func() { _ = exec.Command("sh", "-c", "ip netns del "+here+"; ip netns del "+peer).Run() })
	script := fmt.Sprintf(`ip netns add %[1]s; ip netns add %[2]s
ip link add host0 netns %[1]s type veth peer name peer0 netns %[2]s
ip -n %[1]s link set lo up; ip -n %[1]s link set host0 up; ip -n %[2]s link set peer0 up
ip -n %[1]s link add link host0 name node0 type macvlan mode bridge
ip -n %[1]s address add 10.97.0.1/24 dev node0; ip -n %[1]s link set node0 up
ip netns exec %[1]s nft 'add table ip t; add chain ip t c { type filter hook input priority 0; }; add rule ip t c ct state established counter'`, here, peer)
	if out, err := exec.Command("sh", "-ec", script).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "ip", "netns", "exec", here, os.Args[0], "-test.run=^TestInside", "-test.v")
	cmd.Env = append(os.Environ(), inside+"="+peer)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	require.Contains(t, string(out), "--- PASS: TestInside ")
}

func run(t *testing.T, command string, args ...any) {
	t.Helper()
	if out, err := exec.Command("sh", "-ec", fmt.Sprintf(command, args...)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// look reads the report before and after two intervals, with an event in each.
func look(t *testing.T, address string, event func()) nodereport.HostLinks {
	t.Helper()
	link, err := nodereport.InterfaceWith(address)
	require.NoError(t, err)
	require.NotEmpty(t, link)
	var history nodereport.LinkHistory
	now := time.Now()
	found := history.Read(host.Local{}.FS(), link, now)
	for i := range 2 {
		event()
		found = history.Read(host.Local{}.FS(), link, now.Add(time.Duration(i+1)*nodereport.LinkInterval))
	}
	return *found
}

func TestInside(t *testing.T) {
	peer := os.Getenv(inside)
	if peer == "" {
		t.Skip("TestRealLinks runs it in a namespace")
	}
	t.Run("a healthy link", func(t *testing.T) {
		found := look(t, "10.97.0.1", func() {})
		require.Len(t, found.Interfaces, 1)
		i := found.Interfaces[0]
		require.Equal(t, card{Name: "host0", Speed: 10000, Duplex: "full", Carrier: "up", Grown: i.Grown}, i)
		require.Len(t, i.Grown, 2)
		require.NotNil(t, found.Conntrack)
		require.Positive(t, found.Conntrack.Max)
		require.Empty(t, judge(found))
	})
	t.Run("the carrier flaps", func(t *testing.T) {
		found := judge(look(t, "10.97.0.1", func() {
			run(t, "ip -n %[1]s link set peer0 down; sleep 0.2; ip -n %[1]s link set peer0 up; sleep 0.2", peer)
		}))
		require.Len(t, found, 1)
		require.Contains(t, found[0].Saw, "the carrier is lost and comes back")
	})
	t.Run("packets of no connection", func(t *testing.T) {
		found := judge(look(t, "10.97.0.1", func() { sendInvalid(t, 4000) }))
		require.Len(t, found, 1)
		require.Contains(t, found[0].Saw, "(INVALID)")
	})
	t.Run("half duplex", func(t *testing.T) {
		newCard(t, "half0", 1000, halfDuplex)
		run(t, "ip address add 10.95.0.1/24 dev half0; ip link set half0 up")
		wantOne(t, judge(look(t, "10.95.0.1", func() {})), "Node w1, half0", "1000 Mbit/s, half duplex", "network team")
	})
	t.Run("packets that are not sent", func(t *testing.T) {
		newCard(t, "full0", 10000, fullDuplex)
		run(t, "ip address add 10.95.2.1/24 dev full0; ip link set full0 txqueuelen 10 up")
		found := judge(look(t, "10.95.2.1", func() { broadcast(t, "10.95.2.255:9", 400) }))
		require.Len(t, found, 1)
		require.Contains(t, found[0].Saw, "packets that could not be sent: ")
	})
	t.Run("a bond", func(t *testing.T) { realBond(t, peer) })
}

// broadcast sends packets to a card, which never sends them, because the test does not read its other end.
func broadcast(t *testing.T, to string, n int) {
	t.Helper()
	c, err := net.Dial("udp4", to)
	require.NoError(t, err)
	defer c.Close()
	for range n {
		_, _ = c.Write([]byte("x")) // the queue of the card is full
	}
}

// sendInvalid sends TCP headers without content to this host.
func sendInvalid(t *testing.T, n int) {
	t.Helper()
	c, err := net.Dial("ip4:tcp", "127.0.0.1")
	require.NoError(t, err)
	defer c.Close()
	for range n {
		_, err := c.Write(make([]byte, 20))
		require.NoError(t, err)
	}
}

// realBond takes down one of two members, and replaces the other by a slower one.
func realBond(t *testing.T, peer string) {
	if out, err := exec.Command("ip", "link", "add", "bond0", "type", "bond", "mode", "balance-xor", "miimon", "50").CombinedOutput(); err != nil {
		t.Skipf("this kernel has no bonds: %s", strings.TrimSpace(string(out)))
	}
	for i := range 2 {
		run(t, "ip link add m%[1]d type veth peer name n%[1]d netns %[2]s; ip -n %[2]s link set n%[1]d up; ip link set m%[1]d master bond0", i, peer)
	}
	run(t, "ip address add 10.96.0.1/24 dev bond0; ip link set bond0 up; sleep 0.5")
	full := look(t, "10.96.0.1", func() {})
	require.Len(t, full.Bonds, 1)
	require.Equal(t, bond{Name: "bond0", Mode: "balance-xor", Members: []member{{Name: "m0", Up: true}, {Name: "m1", Up: true}}}, full.Bonds[0])
	require.Len(t, full.Interfaces, 2)
	require.Empty(t, judge(full))
	run(t, "ip -n %s link set n1 down; sleep 0.5", peer)
	wantOne(t, judge(look(t, "10.96.0.1", func() {})), "Node w1, bond0", "member m1 is down: 1 of 2 members work, so the next failure stops the network of the node", "network team")

	newCard(t, "slow0", 1000, fullDuplex)
	run(t, "ip link set m1 nomaster; ip link set slow0 master bond0; sleep 0.5")
	wantOne(t, judge(look(t, "10.96.0.1", func() {})), "Node w1, bond0", "member slow0 has 1000 Mbit/s, m0 has 10000 Mbit/s", "network team")
}
