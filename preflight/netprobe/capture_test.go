package netprobe

import (
	"encoding/base64"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkCapture checks that captured lines are few, short, and free of control characters.
func checkCapture(t *testing.T, lines []string) {
	t.Helper()
	assert.LessOrEqual(t, len(lines), 2*capturedLines)
	for _, line := range lines {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), maxRuleText+300)
		assert.NotContains(t, line, "\n")
		assert.True(t, strings.IndexFunc(line, unicode.IsControl) < 0, "%q", line)
	}
}

// headersOf are headers in the form of a report.
func headersOf(t *testing.T, text string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	return b
}

const (
	synHeaders     = "RQAAKAAAAABABgAACgAAAQoAAAIAYxvSAAAAAAAAAABQAg=="                                         // 10.0.0.1.99 > 10.0.0.2.7122
	refusedHeaders = "RQAAOAAAAABAAQAACgAACQoAAAEDDQAAAAAAAEUAACgAAAAAQAYAAAoAAAEKAAACAAknCgAAAAA="             // about 10.0.0.1.9 > 10.0.0.2.9994
	tooLarge       = "RQAAOAAAAABAAQAACgAACQoAAAEDBAAAAAAFeEUABdwAAAAAQBEAAAoAAAEKAAACAGMhGAXIAAA="             // about 10.0.0.1.99 > 10.0.0.2.8472
	pingHeaders    = "RQAAfgAAAABAEQAACgAAAQoAAAIAYyEYAGoAAAgAAAAAAAUARQAAVAAAAABAAQAACgEAAQoBAAIIAAAAAAAAAA==" // in a VXLAN
)

// TestDescribed has each kind of header, and data that is no header.
func TestDescribed(t *testing.T) {
	for text, want := range map[string]string{
		synHeaders:                             "10.0.0.1.99 > 10.0.0.2.7122: TCP SYN, ttl 64",
		refusedHeaders:                         "10.0.0.9 > 10.0.0.1: ICMP type 3 code 13 (administratively prohibited), about TCP 10.0.0.1.9 > 10.0.0.2.9994, ttl 64",
		tooLarge:                               "10.0.0.9 > 10.0.0.1: ICMP type 3 code 4 (fragmentation needed), mtu 1400, about UDP 10.0.0.1.99 > 10.0.0.2.8472, ttl 64",
		pingHeaders:                            "10.0.0.1.99 > 10.0.0.2.8472: VXLAN, 10.1.0.1 > 10.1.0.2: ICMP echo request, ttl 64",
		"RQAAKAAAAABABgAACgAAAQoAAAI=":         "10.0.0.1 > 10.0.0.2: TCP, ttl 64",
		"RQAAKAAAAABABAAACgAAAQoAAAI=":         "10.0.0.1 > 10.0.0.2: protocol 4, ttl 64",
		"RQAAKAAAAABAAQAACgAAAQoAAAI=":         "10.0.0.1 > 10.0.0.2: protocol 1, ttl 64",
		"":                                     "",
		"RQ==":                                 "",
		"TwAAKAAAAABABgAACgAAAQoAAAI=":         "", // a header of 60 bytes
		"QAAAKAAAAABABgAACgAAAQoAAAIAYxvSAA==": "", // a header of no bytes
		"ZQAAKAAAAABABgAACgAAAQoAAAI=":         "", // IPv6
	} {
		got, ok := described(headersOf(t, text), VXLANPing)
		assert.Equal(t, want, got)
		assert.Equal(t, want != "", ok)
	}
}

// TestHostileCapture: many packets, malformed packets and control characters of a hostile report give few
// readable lines. Packets of a finding without a fault of the network are not shown.
func TestHostileCapture(t *testing.T) {
	hosts := []Host{{Name: "a\x1b[2J\n", Address: netip.MustParseAddr("10.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("10.0.0.2")}}
	here := &Report{Schema: Schema, Hosts: hosts, MTU: 1500, Attempts: []Attempt{{To: 1, Kind: TCP, Port: 7122, Result: NoReply}, {To: 1, Kind: Size, Port: 8472, Size: 1400, Result: Sent}}}
	there := &Report{Schema: Schema, Hosts: hosts, Self: 1, Observations: []Observation{{From: 0, Kind: Size, Port: 8472, Size: 1400, Layer: AtInterface}}}
	packet := func(layer Layer, kind Kind, headers []byte) Packet {
		return Packet{Peer: 1, Kind: kind, Port: 7122, Layer: layer, Time: time.Unix(0, 0), Headers: headers}
	}
	for range 10 * MaxPackets {
		for _, layer := range []Layer{RequestLeft, AnswerArrived, RequestRefused, AtInterface, "other"} {
			here.Packets = append(here.Packets, packet(layer, TCP, headersOf(t, synHeaders)))
		}
		there.Packets = append(there.Packets,
			Packet{Peer: 0, Kind: TCP, Port: 7122, Layer: AtInterface, Headers: make([]byte, MaxHeaders+1)},
			Packet{Peer: 0, Kind: TCP, Port: 7122, Layer: AnswerLeft, Headers: []byte("\x45\x00")})
	}
	m, err := Judge([]*Report{here, there})
	require.NoError(t, err)
	lines := m.capture([]Verdict{{From: 0, To: 1, Kind: TCP, Port: 7122, State: NetworkCloses}})
	checkCapture(t, lines)
	require.Len(t, lines, capturedLines+1)
	assert.Equal(t, "a [2J  00:00:00.000000 out 10.0.0.1.99 > 10.0.0.2.7122: TCP SYN, ttl 64", lines[0])
	assert.Equal(t, "b: no such packet arrived at its interface", lines[capturedLines])
	assert.Empty(t, m.capture([]Verdict{{From: 0, To: 1, Kind: TCP, Port: 7122, State: TLSCloses}}))

	found := m.narrow(Needs{})
	require.Len(t, found, 1)
	assert.Equal(t, []string{"a [2J : no ICMP type 3 code 4 arrived at its interface"}, found[0].Capture)
	here.Packets = []Packet{packet(RequestRefused, Size, headersOf(t, tooLarge))}
	assert.Contains(t, strings.Join(m.narrow(Needs{})[0].Capture, "\n"), "a [2J  00:00:00.000000 in 10.0.0.9 > 10.0.0.1: ICMP type 3 code 4 (fragmentation needed), mtu 1400")
}
