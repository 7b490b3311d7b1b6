package agent

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/preflight/netprobe"
)

// TestRepliesElsewhere: a host behind NAT gets replies. A message that someone sends again with a false source
// address causes only a few.
func TestRepliesElsewhere(t *testing.T) {
	hosts := []netprobe.Host{{Name: "a", Address: netip.MustParseAddr("127.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("127.0.0.2")}, {Name: "c", Address: netip.MustParseAddr("127.0.0.3")}}
	plan := &netprobe.Plan{Token: netprobe.NewToken(), Hosts: hosts}
	a := &agent{plan: hostPlan{plan}, report: &record{Report: &netprobe.Report{}}}
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.answerUDP(conn)
	}()
	defer func() {
		conn.Close()
		<-ended
	}()
	replies := func(source string, from, messages int) (got int) {
		local, err := net.ResolveUDPAddr("udp4", source+":0")
		require.NoError(t, err)
		to, _ := conn.LocalAddr().(*net.UDPAddr)
		sender, err := net.DialUDP("udp4", local, to)
		require.NoError(t, err)
		defer sender.Close()
		for range messages {
			_, err := sender.Write(message{kind: netprobe.UDP, from: from, to: 0, port: 6081, clock: time.Now()}.encode(plan.Token))
			require.NoError(t, err)
			_ = sender.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			if _, err := sender.Read(make([]byte, messageSize)); err == nil {
				got++
			}
		}
		return got
	}
	assert.Equal(t, tries, replies("127.0.0.9", 1, tries), "NAT in front of b")
	assert.Equal(t, maxElsewhere-tries, replies("127.0.0.10", 1, maxElsewhere-tries+4), "someone who has seen a message of b")
	assert.Equal(t, maxElsewhere+1, replies("127.0.0.2", 1, maxElsewhere+1), "b itself")
	assert.Equal(t, tries, replies("127.0.0.9", 2, tries), "NAT in front of c")
}

// TestPacketsOfPage: docs/network.md has the largest number of UDP packets for operators of an intrusion
// detection system.
func TestPacketsOfPage(t *testing.T) {
	vxlan, others := netprobe.Ports(8472), []int{6081}
	ports := len(vxlan) + len(others)
	const rounds = 2 // try and tryAgain
	largest := 0
	for mtu := 1280; mtu <= 65535; mtu++ {
		largest = max(largest, len(sizes(mtu)))
	}
	trains := ports*pacedRounds*netprobe.FlowCount + // each port can fail, up to the last one
		(maxTrains-1)*confirmRounds*netprobe.FlowCount + burstPackets + 2*burstPackets
	most := trains + largest*tries*rounds*ports + tries*rounds*len(others) +
		2*tries*rounds*len(vxlan) // pings and datagrams inside a VXLAN
	for _, page := range []struct{ path, text string }{
		{"docs/network.md", `up to\s+([0-9,]+) packets in each direction of a pair`}, {"docs/ko/network.md", `최대 ([0-9,]+)개의 패킷`},
	} {
		text, err := os.ReadFile("../../../" + page.path)
		require.NoError(t, err)
		found := regexp.MustCompile(page.text).FindSubmatch(text)
		require.NotNil(t, found, page.path)
		number, err := strconv.Atoi(strings.ReplaceAll(string(found[1]), ",", ""))
		require.NoError(t, err)
		assert.Equal(t, (most+999)/1000*1000, number, "%s: %d packets", page.path, most)
		assert.Contains(t, string(text), fmt.Sprintf("%d MiB", bulk>>20), "the stream inside VXLAN: %s", page.path)
		for _, port := range slices.Concat(vxlan, others) {
			assert.Contains(t, string(text), strconv.Itoa(port), page.path)
		}
	}
}
