package agent

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/mdlayher/packet"
	"github.com/vishvananda/netlink"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/preflight/netprobe"
)

const (
	routedTries = 5
	// neighborWait is how long to wait for the kernel's ARP entry of the other host. Other tests
	// create it.
	neighborWait = time.Second
)

// pod is a possible pod address on the host.
func (p hostPlan) pod(host int) (netip.Addr, bool) {
	if !p.Pods.IsValid() || !p.Pods.Addr().Is4() {
		return netip.Addr{}, false
	}
	base := p.Pods.Masked().Addr().As4()
	number := binary.BigEndian.Uint32(base[:]) + uint32(host) + 1
	address := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, number)))
	return address, p.Pods.Contains(address)
}

// sender sends packets without a tunnel to hosts in the same network.
type sender struct {
	ifi  *net.Interface
	conn *packet.Conn

	mu        sync.Mutex
	neighbors map[netip.Addr]net.HardwareAddr // MAC addresses from the kernel's ARP table
}

// listenRouted opens the socket that sends packets with pod addresses. The sniffer receives them.
func (a *agent) listenRouted(ctx context.Context, ifi *net.Interface) {
	if _, planned := a.plan.pod(a.plan.Self); !planned || ifi == nil {
		return
	}
	nothing, err := bpf.Assemble([]bpf.Instruction{bpf.RetConstant{Val: 0}})
	var conn *packet.Conn
	if err == nil {
		conn, err = packet.Listen(ifi, packet.Datagram, unix.ETH_P_IP, &packet.Config{Filter: nothing})
	}
	if err != nil {
		a.report.listenFailed(netprobe.ListenError{Kind: netprobe.Routed, Layer: netprobe.AtInterface, Why: reason(err)})
		return
	}
	a.sender = &sender{ifi: ifi, conn: conn}
	a.background(ctx, func(ctx context.Context) {
		<-ctx.Done()
		conn.Close()
	})
}

// sendRouted sends packets with pod addresses to a host in the same network, like a pod network
// without a tunnel. There is no reply. The TTL is 1, so that a host with IP forwarding does not
// forward them.
func (a *agent) sendRouted(ctx context.Context, to int) {
	from, okFrom := a.plan.pod(a.plan.Self)
	target, okTo := a.plan.pod(to)
	if a.sender == nil || !okFrom || !okTo || !a.report.Network.Contains(a.plan.Hosts[to].Address) {
		return
	}
	attempt := netprobe.Attempt{To: to, Kind: netprobe.Routed, Result: netprobe.Sent}
	b, err := ipPacket(from, target, 1, message{kind: netprobe.Routed, from: a.plan.Self, to: to, clock: time.Now()}.encode(a.plan.Token))
	if err == nil {
		err = a.sender.send(ctx, b, a.plan.Hosts[to].Address)
	}
	if err != nil {
		attempt.Result, attempt.Said = netprobe.NotSent, reason(err)
	}
	a.report.tried(attempt)
}

func (s *sender) send(ctx context.Context, b []byte, to netip.Addr) error {
	hardware, err := s.neighbor(ctx, to)
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

// neighbor waits for the MAC address of a host in the same network.
func (s *sender) neighbor(ctx context.Context, of netip.Addr) (net.HardwareAddr, error) {
	for began := time.Now(); time.Since(began) < neighborWait && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if hardware, err := s.resolved(of); err != nil || hardware != nil {
			return hardware, err
		}
	}
	return nil, errors.New("the host sends no ARP reply")
}

// resolved returns nil for an unknown host. Each reading of the kernel's ARP table serves all hosts in it,
// because the table can be long.
func (s *sender) resolved(of netip.Addr) (net.HardwareAddr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if hardware, known := s.neighbors[of]; known {
		return hardware, nil
	}
	err := s.readNeighbors()
	return s.neighbors[of], err
}

func (s *sender) readNeighbors() error {
	all, err := netlink.NeighList(s.ifi.Index, netlink.FAMILY_V4)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return fmt.Errorf("list the neighbors on %s: %w", s.ifi.Name, err)
	}
	s.neighbors = map[netip.Addr]net.HardwareAddr{}
	for _, n := range all {
		if address, ok := netip.AddrFromSlice(n.IP.To4()); ok && len(n.HardwareAddr) > 0 && n.State&netlink.NUD_FAILED == 0 {
			s.neighbors[address] = n.HardwareAddr
		}
	}
	return nil
}
