package agent

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"syscall"

	"github.com/mdlayher/packet"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/preflight/netprobe"
)

// smallData is longer than the messages of agents and the alerts of TLS.
const smallData = 200

// traceFilter is the kernel's filter for traces. It takes the packets of connections to and from the
// ports of the plan that begin or end them, that have little data, or that begin with a record of TLS;
// and the first packets of trains. The other packets are many.
func traceFilter(plan hostPlan) []bpf.Instruction {
	const ipv4Proto = 0x0800
	program := []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtProto},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: ipv4Proto, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.LoadMemShift{Off: 0},
	}
	var ports []int
	for _, p := range plan.TCP {
		ports = append(ports, p.Number)
	}
	if _, port, err := net.SplitHostPort(plan.VIP); err == nil {
		if number, err := strconv.Atoi(port); err == nil && !slices.Contains(ports, number) {
			ports = append(ports, number)
		}
	}
	for _, port := range ports {
		for _, at := range []uint32{sourceAt, destinationAt} {
			program = append(program, matching(protoTCP, int(at), port, takeBeginnings()...)...)
		}
	}
	for _, port := range slices.Concat(plan.VXLAN, plan.UDP) {
		for _, kind := range []netprobe.Kind{netprobe.Paced, netprobe.Burst} {
			program = append(program, matching(protoUDP, destinationAt, port,
				bpf.LoadIndirect{Off: udpHeader + 1, Size: 4},
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: magicOf(kind), SkipTrue: 3},
				bpf.LoadIndirect{Off: uint32(udpHeader + numberAt), Size: 2},
				bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: netprobe.FlowCount, SkipTrue: 1},
				bpf.RetConstant{Val: snapLength})...)
		}
	}
	return append(program, bpf.RetConstant{Val: 0})
}

// takeBeginnings accepts TCP packets with FIN, SYN or RST, with little data, or with data that begins
// with a record of TLS: types 20 to 23, version 3. X must be the end of the IP header, and is it again
// behind the instructions.
func takeBeginnings() []bpf.Instruction {
	const finSynRst, headerLengthAt, totalLengthAt, records, recordVersions = 0x07, flagsAt - 1, 2, 0x1403, 0xfcff
	return []bpf.Instruction{
		bpf.LoadIndirect{Off: flagsAt, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: finSynRst, SkipTrue: 12},
		bpf.LoadIndirect{Off: headerLengthAt, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 2},
		bpf.ALUOpX{Op: bpf.ALUOpAdd},
		bpf.TAX{},
		bpf.LoadAbsolute{Off: totalLengthAt, Size: 2},
		bpf.ALUOpX{Op: bpf.ALUOpSub},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 5}, // an acknowledgement
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: smallData, SkipTrue: 3},
		bpf.LoadIndirect{Off: 0, Size: 2},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: recordVersions},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: records, SkipTrue: 1},
		bpf.RetConstant{Val: snapLength},
		bpf.LoadMemShift{Off: 0},
	}
}

// listenTraces keeps traces until ctx ends. Without them, findings have no packets.
func listenTraces(ctx context.Context, a *agent) {
	filter, err := bpf.Assemble(traceFilter(a.plan))
	if err != nil {
		return
	}
	conn, err := packet.Listen(&net.Interface{}, packet.Datagram, unix.ETH_P_ALL, &packet.Config{Filter: filter})
	if err != nil {
		return // the other sockets report it
	}
	reader, err := newStamped(conn)
	if err != nil || growBuffer(conn) != nil {
		conn.Close()
		return
	}
	a.background(ctx, func(ctx context.Context) {
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		buf := make([]byte, snapLength)
		for {
			n, err := reader.read(buf)
			switch {
			case err == nil:
				a.traces.keep(a.plan, a.endpoint, buf[:n], reader.direction(), reader.at())
			case !errors.Is(err, syscall.ENETDOWN):
				return
			}
		}
	})
}
