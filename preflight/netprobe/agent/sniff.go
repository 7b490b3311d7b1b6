package agent

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/mdlayher/packet"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/preflight/netprobe"
)

// IP protocols of the parsed headers.
const (
	protoIPIP = 4
	protoTCP  = 6
	protoUDP  = 17
)

const (
	snapLength  = 256 // two headers with options, and a message
	ipHeader    = 20
	udpHeader   = 8
	vxlanHeader = 8
)

// sniffer captures packets at the interface, before the host's own firewall.
type sniffer struct {
	conn   *packet.Conn
	reader *stamped
	plan   hostPlan
	report *record

	arrivals *arrivals
	capture  *capture
}

// newSniffer captures packets on the interface with the host's address.
func newSniffer(plan hostPlan, report *record, ifi *net.Interface) (*sniffer, error) {
	filter, err := bpf.Assemble(captureFilter(plan))
	if err != nil {
		return nil, fmt.Errorf("capture packets on %s: %w", ifi.Name, err)
	}
	conn, err := packet.Listen(ifi, packet.Datagram, unix.ETH_P_IP, &packet.Config{Filter: filter})
	if err != nil {
		return nil, fmt.Errorf("capture packets on %s: %w", ifi.Name, err)
	}
	if err := growBuffer(conn); err != nil {
		return nil, fmt.Errorf("capture packets on %s: %w", ifi.Name, errors.Join(err, conn.Close()))
	}
	reader, err := newStamped(conn)
	if err != nil {
		return nil, fmt.Errorf("capture packets on %s: %w", ifi.Name, errors.Join(err, conn.Close()))
	}
	return &sniffer{conn: conn, reader: reader, plan: plan, report: report}, nil
}

// growBuffer enlarges the receive buffer of a socket for packets from many hosts at once.
func growBuffer(conn syscall.Conn) error {
	const size = 8 << 20
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var errSet error
	err = raw.Control(func(fd uintptr) { errSet = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, size) })
	return cmp.Or(err, errSet)
}

// captureFilter is the kernel's filter for captured packets: protocol 4; the first packets of
// connections to the TCP ports of the plan; messages to its UDP ports and in packets with pod
// addresses; VXLAN frames with ICMP; and ICMP errors. The other VXLAN frames are many, and give no
// new results.
func captureFilter(plan hostPlan) []bpf.Instruction {
	const (
		protocolAt = 9
		portAt     = 2 // behind the IP header, like the following ones
		flagsAt    = 13
		dataAt     = udpHeader
		innerAt    = udpHeader + vxlanHeader + 14 + protocolAt // behind an Ethernet header
		synAck     = 0x12
		syn        = 0x02
		icmp       = 1
	)
	take := bpf.RetConstant{Val: snapLength}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: protocolAt, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: protoIPIP, SkipTrue: 1},
		take,
		bpf.LoadMemShift{Off: 0}, // X is the end of the IP header
	}
	// to skips the instructions in then unless the packet has the port as its destination.
	to := func(protocol, port int, then ...bpf.Instruction) {
		program = append(program,
			bpf.LoadAbsolute{Off: protocolAt, Size: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(protocol), SkipTrue: uint8(len(then) + 2)},
			bpf.LoadIndirect{Off: portAt, Size: 2},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(port), SkipTrue: uint8(len(then))})
		program = append(program, then...)
	}
	for _, p := range plan.TCP {
		to(protoTCP, p.Number,
			bpf.LoadIndirect{Off: flagsAt, Size: 1}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: synAck},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: syn, SkipTrue: 1}, take)
	}
	for _, port := range slices.Concat(plan.UDP, plan.VXLAN, []int{discard}) {
		to(protoUDP, port,
			bpf.LoadIndirect{Off: dataAt, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: binary.BigEndian.Uint32([]byte(magic)), SkipTrue: 1}, take)
	}
	for _, port := range plan.VXLAN {
		to(protoUDP, port,
			bpf.LoadIndirect{Off: innerAt, Size: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: icmp, SkipTrue: 1}, take)
	}
	program = append(program, answersToSelf(plan)...)
	program = append(program, icmpErrors()...)
	return append(program, bpf.RetConstant{Val: 0})
}

// run records captured packets until ctx ends.
func (s *sniffer) run(ctx context.Context) {
	defer context.AfterFunc(ctx, func() { s.conn.Close() })()
	buf := make([]byte, snapLength)
	for {
		n, err := s.reader.read(buf)
		if errors.Is(err, syscall.ENETDOWN) {
			continue // the interface went down; it captures again when it is up
		}
		if err != nil {
			s.report.captureEnded(ctx, err)
			return
		}
		if m, ok := s.plan.numbered(buf[:n]); ok {
			s.arrivals.add(m)
		} else if o, ok := s.plan.classify(buf[:n]); ok {
			s.report.saw(o)
			s.capture.keep(o, buf[:n], s.reader.at())
		} else if o, ok := s.plan.answer(buf[:n], netprobe.AnswerArrived); ok {
			s.report.saw(o)
			s.capture.keep(o, buf[:n], s.reader.at())
		} else if o, ok := s.plan.icmpError(buf[:n]); ok {
			s.capture.keep(o, buf[:n], s.reader.at())
		}
		if o, ok := s.plan.otherSource(buf[:n]); ok {
			s.report.sourced(o)
			s.capture.keep(netprobe.Observation{From: o.Host, Kind: netprobe.OtherSource, Port: o.Port, Layer: netprobe.AtInterface}, buf[:n], s.reader.at())
		}
	}
}

// classify returns the observation for an IP packet of this measurement. For TCP it uses the first
// packet of a connection, and identifies the sender by its address, because that packet has no
// message.
func (p hostPlan) classify(b []byte) (netprobe.Observation, bool) {
	h, ok := parseIP(b)
	if !ok {
		return netprobe.Observation{}, false
	}
	from, known := p.ByAddress(h.from)
	switch {
	case h.protocol == protoTCP && known && len(h.payload) >= 14 && h.payload[13]&0x12 == 0x02: // SYN without ACK
		return netprobe.Observation{From: from, Kind: netprobe.TCP, Port: h.toPort(), Layer: netprobe.AtInterface}, true
	case h.protocol == protoIPIP:
		inner, ok := parseIP(h.payload)
		if !ok || inner.protocol != protoUDP || len(inner.payload) < udpHeader {
			return netprobe.Observation{}, false
		}
		return p.observation(inner.payload[udpHeader:], h.length, netprobe.AtInterface)
	case h.protocol == protoUDP && len(h.payload) >= udpHeader:
		data := h.payload[udpHeader:]
		if known && slices.Contains(p.VXLAN, h.toPort()) && isVXLAN(data, p.vni()) {
			return netprobe.Observation{From: from, Kind: netprobe.VXLANPing, Port: h.toPort(), Layer: netprobe.AtInterface}, true
		}
		return p.observation(data, h.length, netprobe.AtInterface)
	}
	return netprobe.Observation{}, false
}

// observation returns the observation for a message to this host.
func (p hostPlan) observation(b []byte, length int, layer netprobe.Layer) (netprobe.Observation, bool) {
	m, err := decode(p.Token, b)
	if err != nil || m.to != p.Self || m.reply || m.from >= len(p.Hosts) || numbered(m.kind) {
		return netprobe.Observation{}, false
	}
	s := netprobe.Observation{From: m.from, Kind: m.kind, Port: m.port, Size: m.size, Layer: layer}
	if m.size > 0 && length > 0 && length < m.size { // fragmented on the way
		return netprobe.Observation{}, false
	}
	return s, true
}

// ip has the parsed fields of an IPv4 packet.
type ip struct {
	from, to netip.Addr
	protocol int
	length   int // of the packet, from its header
	payload  []byte
}

func (h ip) fromPort() int { return int(binary.BigEndian.Uint16(h.payload)) }

func (h ip) toPort() int { return int(binary.BigEndian.Uint16(h.payload[2:])) }

// parseIP parses an IPv4 packet or its first fragment; ok is false for other data.
func parseIP(b []byte) (ip, bool) {
	if len(b) < ipHeader || b[0]>>4 != 4 {
		return ip{}, false
	}
	start := int(b[0]&0xf) * 4
	if start < ipHeader || len(b) < start+4 || binary.BigEndian.Uint16(b[6:])&0x1fff != 0 {
		return ip{}, false
	}
	from, _ := netip.AddrFromSlice(b[12:16])
	to, _ := netip.AddrFromSlice(b[16:20])
	return ip{from, to, int(b[9]), int(binary.BigEndian.Uint16(b[2:])), b[start:]}, true
}

// isVXLAN reports whether the frame belongs to a network of the measurement.
func isVXLAN(b []byte, vni int) bool {
	if len(b) < vxlanHeader || b[0] != 0x08 {
		return false
	}
	have := int(binary.BigEndian.Uint32(b[4:]) >> 8)
	return have == vni || have == vni+1
}
