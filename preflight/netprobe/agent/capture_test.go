package agent

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/preflight/netprobe"
)

// captureOf returns the captured lines of the finding with a text, joined by newlines.
func captureOf(t *testing.T, findings []netprobe.Finding, what string) string {
	t.Helper()
	for _, f := range findings {
		if strings.HasPrefix(f.What, what) {
			assert.LessOrEqual(t, len(f.Capture), 12, what)
			return strings.Join(f.Capture, "\n")
		}
	}
	t.Fatalf("no finding %q in %+v", what, findings)
	return ""
}

const (
	clockPattern = ` \d\d:\d\d:\d\d\.\d{6} `
	portPattern  = `\d{4,5}`
)

// matches checks lines against patterns.
func matches(t *testing.T, captured string, patterns ...string) {
	t.Helper()
	pattern := strings.NewReplacer(" CLOCK ", clockPattern, "PORT", portPattern).Replace(strings.Join(patterns, ""))
	assert.Regexp(t, regexp.MustCompile("^"+pattern+"$"), captured+"\n")
}

// TestCapture: the capture of a lost SYN differs from the one of a lost answer, and names both hosts.
func TestCapture(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 3)
	n.lose(
		"ip saddr 10.99.0.1 ip daddr 10.99.0.2 tcp dport 10250 tcp flags & (syn | ack) == syn drop",
		"ip saddr 10.99.0.3 ip daddr 10.99.0.1 tcp sport 10250 tcp flags & (syn | ack) == syn | ack drop",
		"ip saddr 10.99.0.1 ip daddr 10.99.0.2 udp dport { 6081, 8472 } drop",
	)
	plan := n.plan()
	m := n.matrix(plan)
	findings := m.Findings(netprobe.Needs{TCP: plan.TCP, VXLAN: 8472})
	matches(t, captureOf(t, findings, "TCP 10250 (kubelet) does not arrive"),
		`(h0 CLOCK out 10\.99\.0\.1\.PORT > 10\.99\.0\.2\.10250: TCP SYN, ttl 64\n){1,2}`,
		`h1: no such packet arrived at its interface\n`)
	matches(t, captureOf(t, findings, "TCP 10250 (kubelet) arrives and the host answers"),
		`(h0 CLOCK out 10\.99\.0\.1\.PORT > 10\.99\.0\.3\.10250: TCP SYN, ttl 64\n){1,2}`,
		`h0: no answer arrived at its interface\n`,
		// A virtual Ethernet pair does not always keep the order of both.
		`(h2 CLOCK in 10\.99\.0\.1\.PORT > 10\.99\.0\.3\.10250: TCP SYN, ttl 64\n|h2 CLOCK out 10\.99\.0\.3\.10250 > 10\.99\.0\.1\.PORT: TCP SYN\+ACK, ttl 64\n){2,4}`)
	matches(t, captureOf(t, findings, "VXLAN on UDP 8472 does not arrive"),
		`h0 CLOCK out 10\.99\.0\.1\.PORT > 10\.99\.0\.2\.8472: VXLAN, [0-9.]+ > [0-9.]+: ICMP echo request, ttl 64\n`,
		`h1: no such packet arrived at its interface\n`)
	matches(t, captureOf(t, m.Findings(netprobe.Needs{VXLAN: 6081}), "UDP 6081 does not arrive"),
		`h0 CLOCK out 10\.99\.0\.1\.PORT > 10\.99\.0\.2\.6081: UDP, length \d+, ttl 64\n`,
		`h1: no such packet arrived at its interface\n`)
}

// TestCaptureOfRefusal: the ICMP errors of a router name the router, and the packets that it refuses.
func TestCaptureOfRefusal(t *testing.T) {
	t.Parallel()
	n := routed(t, "ip saddr 10.99.0.1 tcp dport 10250 reject with icmp type admin-prohibited")
	plan := n.plan()
	findings := n.matrix(plan).Findings(netprobe.Needs{TCP: plan.TCP, VXLAN: 8472})
	captured := captureOf(t, findings, "TCP 10250 (kubelet) does not arrive")
	matches(t, captured,
		`h0 CLOCK out 10\.99\.0\.1\.PORT > 10\.98\.0\.1\.10250: TCP SYN, ttl 64\n`,
		`h0 CLOCK in 10\.99\.0\.254 > 10\.99\.0\.1: ICMP type 3 code 13 \(administratively prohibited\), about TCP 10\.99\.0\.1\.PORT > 10\.98\.0\.1\.10250, ttl 64\n`,
		`(h0 CLOCK .*\n){0,2}`, // the second test
		`h1: no such packet arrived at its interface\n`)
	matches(t, captureOf(t, findings, "packets larger than 1400 bytes are lost"),
		`(h0 CLOCK in 10\.99\.0\.254 > 10\.99\.0\.1: ICMP type 3 code 4 \(fragmentation needed\), mtu 1400, about UDP 10\.99\.0\.1\.PORT > 10\.98\.0\.1\.PORT, ttl 64\n){1,2}`)
}

// TestCaptureOfOpenNetwork: a network without faults has no packets in findings, and no connections in reports.
func TestCaptureOfOpenNetwork(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	plan := n.plan()
	reports := n.measure(plan)
	for _, r := range reports {
		for _, p := range r.Packets {
			assert.Contains(t, []netprobe.Kind{netprobe.UDP, netprobe.VXLANPing}, p.Kind, p)
			// An answer can arrive late, at a closed port.
			assert.Contains(t, []netprobe.Layer{netprobe.AtInterface, netprobe.AnswerLeft, netprobe.AnswerRefused}, p.Layer, p)
		}
		assert.LessOrEqual(t, len(r.Packets), 2*3+1)
	}
	m, err := netprobe.Judge(reports)
	require.NoError(t, err)
	for _, f := range m.Findings(netprobe.Needs{TCP: plan.TCP, VXLAN: 8472}) {
		assert.Empty(t, f.Capture, f)
	}
}

// TestCaptureBounded: a host that sends any number of different packets fills neither the memory nor the report,
// and no data of a packet is in the report.
func TestCaptureBounded(t *testing.T) {
	plan := hostPlan{&netprobe.Plan{Token: netprobe.NewToken(), Hosts: make([]netprobe.Host, 200)}}
	secret := message{kind: netprobe.UDP, from: 1, port: 6081}.encode(plan.Token)
	b, err := ipPacket(netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.1"), 64, secret)
	require.NoError(t, err)
	var c capture
	for from := range plan.Hosts {
		for port := range 2 * maxOfHost {
			c.keep(netprobe.Observation{From: from, Kind: netprobe.UDP, Port: port, Layer: netprobe.AtInterface}, b, time.Time{})
		}
	}
	assert.Equal(t, maxOfHosts, c.all)
	packets := c.packets(&record{Report: &netprobe.Report{}}, netprobe.MaxPackets)
	assert.Len(t, packets, netprobe.MaxPackets)
	assert.Equal(t, b[:ipHeader+udpHeader], packets[0].Headers)
	text, err := json.Marshal(packets)
	require.NoError(t, err)
	assert.Less(t, len(text), 1<<20)
	assert.False(t, bytes.Contains(packets[0].Headers, []byte(magic)))
}

// TestCaptureOnce: a packet that two interfaces of one host report is one packet.
func TestCaptureOnce(t *testing.T) {
	b, err := ipPacket(netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.1"), 64, nil)
	require.NoError(t, err)
	var c capture
	for range 3 {
		c.keep(netprobe.Observation{Kind: netprobe.TCP, Port: 1, Layer: netprobe.RequestLeft}, b, time.Time{})
	}
	assert.Equal(t, 1, c.all)
}
