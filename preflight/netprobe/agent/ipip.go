package agent

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/ipv4"

	"airgap.dev/airgap/preflight/netprobe"
)

// ipipTries is high enough to distinguish a block from a lost packet.
const ipipTries = 5

// listenIPIP receives protocol 4 on a raw socket, behind the host's firewall. It needs no kernel
// module for tunnels.
func (a *agent) listenIPIP(ctx context.Context) {
	var config net.ListenConfig
	conn, err := config.ListenPacket(ctx, "ip4:4", a.plan.Own().Address.String())
	if err != nil {
		a.report.listenFailed(netprobe.ListenError{Kind: netprobe.IPIP, Layer: netprobe.AtSocket, Why: reason(err)})
		return
	}
	if err := growBuffer(conn.(*net.IPConn)); err != nil {
		a.report.listenFailed(netprobe.ListenError{Kind: netprobe.IPIP, Layer: netprobe.AtSocket, Why: err.Error()})
	}
	a.background(ctx, func(ctx context.Context) {
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		buf := make([]byte, 1<<16)
		for {
			n, _, err := conn.ReadFrom(buf) // without the outer header
			if err != nil {
				return
			}
			inner, ok := parseIP(buf[:n])
			if !ok || inner.protocol != protoUDP || len(inner.payload) < udpHeader {
				continue
			}
			if s, ok := a.plan.observation(inner.payload[udpHeader:], n+ipHeader, netprobe.AtSocket); ok {
				a.report.saw(s)
			}
		}
	})
}

// sendIPIP sends IP packets in IP packets, small ones and full-size ones. There is no reply.
func (a *agent) sendIPIP(ctx context.Context, to int) {
	var config net.ListenConfig
	conn, err := config.ListenPacket(ctx, "ip4:4", a.plan.Own().Address.String())
	if err != nil {
		a.report.tried(netprobe.Attempt{To: to, Kind: netprobe.IPIP, Result: netprobe.NotSent, Said: reason(err)})
		return
	}
	defer conn.Close()
	target := &net.IPAddr{IP: a.plan.Hosts[to].Address.AsSlice()}
	for _, size := range []int{2*ipHeader + udpHeader + messageSize, a.report.MTU} {
		attempt := netprobe.Attempt{To: to, Kind: netprobe.IPIP, Size: size, Result: netprobe.Sent}
		m := message{kind: netprobe.IPIP, from: a.plan.Self, to: to, size: size, clock: time.Now()}
		inner, err := ipPacket(a.plan.Own().Address, a.plan.Hosts[to].Address, 64, m.padded(a.plan.Token, size-2*ipHeader-udpHeader))
		for range ipipTries {
			if err == nil {
				_, err = conn.WriteTo(inner, target)
			}
			time.Sleep(2 * time.Millisecond)
		}
		if err != nil {
			attempt.Result, attempt.Said = netprobe.NotSent, reason(err)
		}
		a.report.tried(attempt)
	}
}

// discard is the port of the inner packet, on which no program listens: RFC 863.
const discard = 9

// ipPacket returns an IPv4 packet with a UDP datagram without a checksum, as RFC 768 allows.
func ipPacket(from, to netip.Addr, ttl int, data []byte) ([]byte, error) {
	h := ipv4.Header{Version: 4, Len: ipHeader, TotalLen: ipHeader + udpHeader + len(data), TTL: ttl, Protocol: protoUDP, Src: from.AsSlice(), Dst: to.AsSlice()}
	b, err := h.Marshal()
	if err != nil {
		return nil, err
	}
	binary.BigEndian.PutUint16(b[10:], checksum(b))
	b = binary.BigEndian.AppendUint16(b, discard)
	b = binary.BigEndian.AppendUint16(b, discard)
	b = binary.BigEndian.AppendUint16(b, uint16(udpHeader+len(data)))
	b = binary.BigEndian.AppendUint16(b, 0)
	return append(b, data...), nil
}

// checksum is the Internet checksum of RFC 1071. The checksum field of the header must be zero.
func checksum(header []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(header); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(header[i:]))
	}
	for sum>>16 > 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
