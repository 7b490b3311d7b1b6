package netprobe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/mdlayher/packet"
	"github.com/vishvananda/netlink"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const (
	routedTries = 5
	// neighbourWait is how long the kernel may take to learn where the other host is,
	// from what else is sent to it.
	neighbourWait = time.Second
)

// pod is an address that a pod of the host could have.
func (p *Plan) pod(host int) (netip.Addr, bool) {
	if !p.Pods.IsValid() || !p.Pods.Addr().Is4() {
		return netip.Addr{}, false
	}
	base := p.Pods.Masked().Addr().As4()
	number := binary.BigEndian.Uint32(base[:]) + uint32(host) + 1
	address := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, number)))
	return address, p.Pods.Contains(address)
}

// sender sends packets to hosts of the same network as they are.
type sender struct {
	ifi  *net.Interface
	conn *packet.Conn
}

// listenRouted opens what packets with pods' addresses are sent by; they are seen by the
// sniffer.
func (a *agent) listenRouted(ctx context.Context, ifi *net.Interface) {
	if _, wanted := a.plan.pod(a.plan.Self); !wanted || ifi == nil {
		return
	}
	nothing, err := bpf.Assemble([]bpf.Instruction{bpf.RetConstant{Val: 0}})
	var conn *packet.Conn
	if err == nil {
		conn, err = packet.Listen(ifi, packet.Datagram, unix.ETH_P_IP, &packet.Config{Filter: nothing})
	}
	if err != nil {
		a.report.deaf(Deaf{Kind: Routed, Layer: AtInterface, Why: reason(err)})
		return
	}
	a.sender = &sender{ifi, conn}
	a.background(ctx, func(ctx context.Context) {
		<-ctx.Done()
		conn.Close()
	})
}

// sendRouted sends packets with pods' addresses to a host of the same network, as a pod
// network without a tunnel does. Nothing answers; they live for one hop, so that a host
// which forwards already does not hand them on.
func (a *agent) sendRouted(ctx context.Context, to int) {
	from, okFrom := a.plan.pod(a.plan.Self)
	target, okTo := a.plan.pod(to)
	if a.sender == nil || !okFrom || !okTo || !a.report.Network.Contains(a.plan.Hosts[to].Address) {
		return
	}
	attempt := Attempt{To: to, Kind: Routed, Result: Sent}
	b, err := ipPacket(from, target, 1, message{kind: Routed, from: a.plan.Self, to: to, clock: time.Now()}.encode(a.plan.Token))
	if err == nil {
		err = a.sender.send(ctx, b, a.plan.Hosts[to].Address)
	}
	if err != nil {
		attempt.Result, attempt.Said = Unsendable, reason(err)
	}
	a.report.tried(attempt)
}

func (s *sender) send(ctx context.Context, b []byte, to netip.Addr) error {
	hardware, err := neighbour(ctx, s.ifi, to)
	if err != nil {
		return err
	}
	for range routedTries {
		if _, err := s.conn.WriteTo(b, &packet.Addr{HardwareAddr: hardware}); err != nil {
			return err
		}
		time.Sleep(2 * time.Millisecond)
	}
	return nil
}

// neighbour is the hardware address of a host of the same network, as the kernel knows it.
func neighbour(ctx context.Context, ifi *net.Interface, of netip.Addr) (net.HardwareAddr, error) {
	for began := time.Now(); time.Since(began) < neighbourWait && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		all, err := netlink.NeighList(ifi.Index, netlink.FAMILY_V4)
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return nil, fmt.Errorf("list the neighbours on %s: %w", ifi.Name, err)
		}
		for _, n := range all {
			if address, ok := netip.AddrFromSlice(n.IP.To4()); ok && address == of && len(n.HardwareAddr) > 0 && n.State&netlink.NUD_FAILED == 0 {
				return n.HardwareAddr, nil
			}
		}
	}
	return nil, errors.New("it answers to no question for its hardware address")
}
