package agent

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/preflight/netprobe"
)

const (
	tries    = 3
	tryEvery = 500 * time.Millisecond
)

// listenUDP answers on the ports of tunnels, except for VXLAN: the kernel uses these ports during
// the tests.
func (a *agent) listenUDP(ctx context.Context) {
	for _, port := range a.plan.UDP {
		var config net.ListenConfig
		conn, err := config.ListenPacket(ctx, "udp4", netip.AddrPortFrom(a.plan.Own().Address, uint16(port)).String())
		if err != nil {
			a.report.listenFailed(netprobe.ListenError{Kind: netprobe.UDP, Port: port, Layer: netprobe.AtSocket, Why: reason(err)})
			continue
		}
		a.background(ctx, func(ctx context.Context) {
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			a.answerUDP(conn)
		})
	}
}

// maxElsewhere is the number of replies for each host of the plan to other addresses than its own. NAT
// needs a few. Anyone who has seen a message can send it again with a false source address.
const maxElsewhere = 16

// answerUDP sends a reply that is not larger than the request, so that it cannot amplify an attack.
func (a *agent) answerUDP(conn net.PacketConn) {
	buf := make([]byte, 1<<16)
	elsewhere := map[int]int{}
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		s, ok := a.plan.observation(buf[:n], 0, netprobe.AtSocket)
		if !ok {
			continue
		}
		a.report.saw(s)
		if at, err := netip.ParseAddrPort(from.String()); err != nil || at.Addr().Unmap() != a.plan.Hosts[s.From].Address {
			if elsewhere[s.From]++; elsewhere[s.From] > maxElsewhere {
				continue
			}
		}
		reply := message{kind: s.Kind, reply: true, from: a.plan.Self, to: s.From, port: s.Port, size: s.Size, clock: time.Now()}
		_, _ = conn.WriteTo(reply.encode(a.plan.Token), from)
	}
}

// tryUDP sends a few times until it gets a reply.
func (a *agent) tryUDP(ctx context.Context, to, port int) netprobe.Attempt {
	attempt := netprobe.Attempt{To: to, Kind: netprobe.UDP, Port: port, Result: netprobe.NoReply}
	conn, err := a.dialUDP(ctx, to, port)
	if err != nil {
		attempt.Result, attempt.Said = failed(err), reason(err)
		return attempt
	}
	defer conn.Close()
	reply := make([]byte, messageSize)
	for range tries {
		_ = conn.SetDeadline(time.Now().Add(tryEvery))
		_, err := conn.Write(message{kind: netprobe.UDP, from: a.plan.Self, to: to, port: port, clock: time.Now()}.encode(a.plan.Token))
		var n int
		if err == nil {
			n, err = conn.Read(reply)
		}
		if err != nil {
			if r := failed(err); r != netprobe.NoReply { // an ICMP error
				attempt.Result, attempt.Said = r, reason(err)
			}
			if ctx.Err() != nil {
				return attempt
			}
			time.Sleep(tryEvery / 10)
			continue
		}
		if m, err := decode(a.plan.Token, reply[:n]); err == nil && m.reply && m.from == to && m.to == a.plan.Self {
			attempt.Result, attempt.Said = netprobe.Answered, ""
			return attempt
		}
	}
	return attempt
}

func (a *agent) dialUDP(ctx context.Context, to, port int) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(a.plan.Own().Address, 0))}
	return dialer.DialContext(ctx, "udp4", netip.AddrPortFrom(a.plan.Hosts[to].Address, uint16(port)).String())
}

// sizes are the tested packet sizes: the MTU of the interface, the MTU minus the overhead of
// tunnels, and usual MTUs of networks.
func sizes(mtu int) []int {
	all := []int{mtu, mtu - 20, mtu - 50, mtu - 60, 9000, 8950, 1500, 1450, 1440, 1400, 1350, 1280}
	all = slices.DeleteFunc(all, func(s int) bool { return s > mtu || s < 576 })
	slices.Sort(all)
	return slices.Compact(all)
}

// sendSizes sends packets of each size without fragmentation. There is no reply: only the
// observations of the other host count. The socket ignores the kernel's path MTU, so that packets
// up to the MTU of the interface are sent.
func (a *agent) sendSizes(ctx context.Context, to, port int) {
	notSent := func(err error) {
		a.report.tried(netprobe.Attempt{To: to, Kind: netprobe.Size, Port: port, Result: netprobe.NotSent, Said: err.Error()})
	}
	conn, err := a.dialUDP(ctx, to, port)
	if err != nil {
		notSent(err)
		return
	}
	defer conn.Close()
	if err := forbidFragmentation(conn.(*net.UDPConn)); err != nil {
		notSent(err)
		return
	}
	for _, size := range sizes(a.report.MTU) {
		attempt := netprobe.Attempt{To: to, Kind: netprobe.Size, Port: port, Size: size, Result: netprobe.Sent}
		for range tries {
			m := message{kind: netprobe.Size, from: a.plan.Self, to: to, port: port, size: size, clock: time.Now()}
			if _, err := conn.Write(m.padded(a.plan.Token, size-ipHeader-udpHeader)); err != nil && failed(err) == netprobe.NotSent {
				attempt.Result, attempt.Said = netprobe.NotSent, reason(err)
			}
			time.Sleep(2 * time.Millisecond)
		}
		a.report.tried(attempt)
	}
}

// forbidFragmentation makes the kernel send packets unfragmented or not at all.
func forbidFragmentation(conn *net.UDPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var errSet error
	err = raw.Control(func(fd uintptr) {
		errSet = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE)
	})
	if err == nil {
		err = errSet
	}
	if err != nil {
		return fmt.Errorf("disable fragmentation: %w", err)
	}
	return nil
}
