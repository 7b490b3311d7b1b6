package agent

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"syscall"

	"github.com/mdlayher/packet"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/preflight/netprobe"
)

// Offsets in a packet, behind its IP header, and values.
const (
	sourceAt      = 0
	destinationAt = 2
	sequenceAt    = 4
	flagsAt       = 13
	innerIPAt     = udpHeader + vxlanHeader + 14 // behind an Ethernet header
	innerDataAt   = innerIPAt + ipHeader
	flagSYN       = 0x02
	flagRST       = 0x04
	flagsSYNACK   = 0x12
	echoReply     = 0
	echoRequest   = 8
	protoICMP     = 1
)

// matching returns the instructions that run then for packets of a protocol with a port at an offset.
// X must be the end of the IP header.
func matching(protocol, portAt, port int, then ...bpf.Instruction) []bpf.Instruction {
	return append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(protocol), SkipTrue: uint8(len(then) + 2)},
		bpf.LoadIndirect{Off: uint32(portAt), Size: 2},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(port), SkipTrue: uint8(len(then))},
	}, then...)
}

// takeIf accepts a packet with a value at an offset, after a mask.
func takeIf(at, size int, mask, value uint32) []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadIndirect{Off: uint32(at), Size: size}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: value, SkipTrue: 1}, bpf.RetConstant{Val: snapLength},
	}
}

// insideVXLAN returns the instructions that run then for VXLAN frames with a protocol inside.
func insideVXLAN(protocol int, then ...bpf.Instruction) []bpf.Instruction {
	return append([]bpf.Instruction{
		bpf.LoadIndirect{Off: innerIPAt + 9, Size: 1}, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(protocol), SkipTrue: uint8(len(then))},
	}, then...)
}

// answersToSelf is the part of the filter for answers from ports of the plan.
func answersToSelf(plan hostPlan) []bpf.Instruction {
	var program []bpf.Instruction
	for _, p := range plan.TCP { // an RST in answer to a SYN has the sequence number 0 (RFC 9293, 3.10.7.1)
		reset := []bpf.Instruction{bpf.LoadIndirect{Off: flagsAt, Size: 1}, bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: flagRST, SkipTrue: 4}}
		program = append(program, matching(protoTCP, sourceAt, p.Number, takeIf(flagsAt, 1, flagsSYNACK, flagsSYNACK)...)...)
		program = append(program, matching(protoTCP, sourceAt, p.Number, append(reset, takeIf(sequenceAt, 4, 0xffffffff, 0)...)...)...)
	}
	for _, port := range plan.UDP {
		program = append(program, matching(protoUDP, sourceAt, port, takeMessages()...)...)
	}
	return program
}

func takeMessages() []bpf.Instruction {
	return takeIf(udpHeader, 4, 0xffffffff, binary.BigEndian.Uint32([]byte(magic)))
}

// answerFilter is the kernel's filter for packets that leave this host: answers, the first packets of
// connections, UDP tests of ports, pings inside a VXLAN, and messages with a source address that is not
// the host's address in the plan.
func answerFilter(plan hostPlan) []bpf.Instruction {
	const ipv4Proto, outgoing = 0x0800, unix.PACKET_OUTGOING
	program := []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtType},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: outgoing, SkipTrue: 2},
		bpf.LoadExtension{Num: bpf.ExtProto},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: ipv4Proto, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.LoadMemShift{Off: 0},
	}
	program = append(program, answersToSelf(plan)...)
	for _, p := range plan.TCP {
		program = append(program, matching(protoTCP, destinationAt, p.Number, takeIf(flagsAt, 1, flagsSYNACK, flagSYN)...)...)
	}
	for _, port := range plan.VXLAN {
		program = append(program, matching(protoUDP, destinationAt, port, insideVXLAN(protoICMP, takeIf(innerDataAt, 1, 0xff&^echoRequest, echoReply)...)...)...)
		program = append(program, matching(protoUDP, destinationAt, port, insideVXLAN(protoUDP, takeIf(innerDataAt, 2, 0xffff, innerPort)...)...)...)
	}
	for _, port := range plan.UDP {
		program = append(program, matching(protoUDP, destinationAt, port, takeRequests()...)...)
	}
	own := plan.Own().Address.As4()
	program = append(program, bpf.LoadAbsolute{Off: 12, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: binary.BigEndian.Uint32(own[:]), SkipTrue: 1}, bpf.RetConstant{Val: 0})
	for _, port := range slices.Concat(plan.UDP, plan.VXLAN) {
		program = append(program, matching(protoUDP, destinationAt, port, takeMessages()...)...)
	}
	return append(program, bpf.RetConstant{Val: 0})
}

// listenAnswers records the answers that leave this host, by any interface. Only a socket for all
// protocols sees outgoing packets.
func (a *agent) listenAnswers(ctx context.Context) {
	filter, err := bpf.Assemble(answerFilter(a.plan))
	var conn *packet.Conn
	if err == nil {
		conn, err = packet.Listen(&net.Interface{}, packet.Datagram, unix.ETH_P_ALL, &packet.Config{Filter: filter})
	}
	var reader *stamped
	if err == nil {
		reader, err = newStamped(conn)
	}
	if err == nil {
		err = growBuffer(conn)
	}
	if err != nil {
		a.report.listenFailed(netprobe.ListenError{Layer: netprobe.AtInterface, Why: "capture outgoing packets: " + reason(err)})
	}
	if reader == nil {
		if conn != nil {
			conn.Close()
		}
		return
	}
	a.background(ctx, func(ctx context.Context) {
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		buf := make([]byte, snapLength)
		for {
			n, err := reader.read(buf)
			if errors.Is(err, syscall.ENETDOWN) {
				continue
			}
			if err != nil {
				a.report.captureEnded(ctx, err)
				return
			}
			if o, ok := a.plan.answer(buf[:n], netprobe.AnswerLeft); ok {
				a.report.saw(o)
				a.capture.keep(o, buf[:n], reader.at())
			}
			if o, ok := a.plan.sourceLeft(buf[:n]); ok {
				a.report.sourced(o)
			}
		}
	})
}

// answer returns the observation for an answer or a request between this host and another host of the plan.
func (p hostPlan) answer(b []byte, layer netprobe.Layer) (netprobe.Observation, bool) {
	h, ok := parseIP(b)
	if !ok {
		return netprobe.Observation{}, false
	}
	other := h.from
	if layer == netprobe.AnswerLeft {
		other = h.to
	}
	host, known := p.ByAddress(other)
	if !known || host == p.Self {
		return netprobe.Observation{}, false
	}
	found := netprobe.Observation{From: host, Kind: netprobe.TCP, Port: h.fromPort(), Layer: layer}
	switch {
	case layer == netprobe.AnswerLeft && h.protocol == protoTCP && len(h.payload) > flagsAt && p.hasTCP(h.toPort()) && h.payload[flagsAt]&flagsSYNACK == flagSYN:
		found.Port, found.Layer = h.toPort(), netprobe.RequestLeft
		return found, true
	case h.protocol == protoTCP && len(h.payload) > flagsAt && p.hasTCP(found.Port):
		flags := h.payload[flagsAt]
		if flags&flagRST != 0 {
			if layer == netprobe.AnswerLeft {
				found.Layer = netprobe.RefusalLeft
			}
			return found, binary.BigEndian.Uint32(h.payload[sequenceAt:]) == 0
		}
		return found, flags&flagsSYNACK == flagsSYNACK
	case h.protocol == protoUDP && layer == netprobe.AnswerLeft && slices.Contains(p.VXLAN, h.toPort()) && len(h.payload) > innerDataAt+1 && isVXLAN(h.payload[udpHeader:], p.vni()):
		found.Kind, found.Port = netprobe.VXLANPing, h.toPort()
		if h.payload[innerIPAt+9] == protoUDP {
			found.Kind = netprobe.VXLANUDP
			return found, binary.BigEndian.Uint16(h.payload[innerDataAt:]) == innerPort
		}
		if h.payload[innerDataAt] == echoRequest {
			found.Layer = netprobe.RequestLeft
		}
		return found, h.payload[innerIPAt+9] == protoICMP && h.payload[innerDataAt]&^echoRequest == echoReply
	case layer == netprobe.AnswerLeft && h.protocol == protoUDP && slices.Contains(p.UDP, h.toPort()):
		m, err := decode(p.Token, h.payload[min(udpHeader, len(h.payload)):])
		found.Kind, found.Port, found.Layer = netprobe.UDP, h.toPort(), netprobe.RequestLeft
		return found, err == nil && !m.reply && m.kind == netprobe.UDP && m.port == found.Port
	case h.protocol == protoUDP && slices.Contains(p.UDP, found.Port):
		m, err := decode(p.Token, h.payload[min(udpHeader, len(h.payload)):])
		found.Kind = netprobe.UDP
		return found, err == nil && m.reply && m.kind == netprobe.UDP && m.port == found.Port
	}
	return netprobe.Observation{}, false
}

func (p hostPlan) hasTCP(port int) bool {
	return slices.ContainsFunc(p.TCP, func(q netprobe.Port) bool { return q.Number == port })
}
