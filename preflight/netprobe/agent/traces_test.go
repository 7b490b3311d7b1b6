package agent

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/preflight/netprobe"
)

func tcpPacket(from, to netip.AddrPort, flags byte, number int) []byte {
	b := make([]byte, 60)
	b[0], b[9], b[3], b[5], b[32], b[33] = 0x45, protoTCP, 60, byte(number), 0x50, flags
	a, c := from.Addr().As4(), to.Addr().As4()
	copy(b[12:], a[:])
	copy(b[16:], c[:])
	b[20], b[21], b[22], b[23] = byte(from.Port()>>8), byte(from.Port()), byte(to.Port()>>8), byte(to.Port())
	return b
}

// TestTracesBounded: hosts and other addresses with any number of connections and packets fill neither the memory
// nor the report, and complete connections are not in it.
func TestTracesBounded(t *testing.T) {
	plan := hostPlan{&netprobe.Plan{Hosts: make([]netprobe.Host, 20), TCP: []netprobe.Port{{Number: 6443}}}}
	for i := range plan.Hosts {
		plan.Hosts[i].Address = netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
	}
	own := netip.AddrPortFrom(plan.Own().Address, 6443)
	var c traces
	var began []netprobe.Failed
	for from := range 40 { // the last 20 are no hosts
		for port := range 3 * maxTraces {
			other := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(from)}), uint16(1000+port))
			for number := range 20 {
				c.keep(plan, nil, tcpPacket(other, own, byte(number), number), unix.PACKET_HOST, time.Unix(int64(number), 0))
				c.keep(plan, nil, tcpPacket(other, own, byte(number), number), unix.PACKET_OTHERHOST, time.Unix(0, 0))
			}
			began = append(began, netprobe.Failed{From: from, To: 0, Kind: netprobe.TLS, Port: 6443, Source: 1000 + port})
		}
	}
	assert.Len(t, c.kept, 20*maxTraces) // 19 other hosts, and all other addresses
	for _, kept := range c.kept {
		assert.LessOrEqual(t, len(kept.packets), maxTrace)
	}
	r := &record{Report: &netprobe.Report{}}
	assert.Empty(t, c.packets(r, nil))
	assert.Len(t, c.packets(r, began), maxTraced)
	for range 3 * maxMarks {
		c.fails(mark{Failed: netprobe.Failed{To: 1, Source: 1000}})
	}
	assert.Len(t, c.marks, maxOfKind)
}

// TestTraceOfDial: the packets of a dial that failed are those of the connection that began during it.
func TestTraceOfDial(t *testing.T) {
	plan := hostPlan{&netprobe.Plan{Hosts: []netprobe.Host{{Address: netip.MustParseAddr("10.0.0.1")}}}}
	vip := netip.MustParseAddrPort("10.0.0.9:8443")
	var c traces
	for i := range 3 {
		at := time.Unix(int64(10*i), 0)
		c.keep(plan, []netip.Addr{vip.Addr()}, tcpPacket(netip.AddrPortFrom(plan.Own().Address, uint16(4000+i)), vip, flagSYN, i), unix.PACKET_OUTGOING, at)
	}
	began := time.Unix(9, 0)
	c.fails(mark{Failed: netprobe.Failed{To: balanced, Kind: netprobe.Balanced}, result: netprobe.NoReply, other: vip, began: began, ended: began.Add(3 * time.Second)})
	found := c.packets(&record{Report: &netprobe.Report{}}, nil)
	require.Len(t, found, 1)
	assert.Equal(t, netprobe.NoReply, found[0].Result)
	assert.Equal(t, netprobe.RequestLeft, found[0].Layer)
	assert.Equal(t, []byte{4001 >> 8, 4001 & 0xff}, found[0].Headers[20:22])
}
