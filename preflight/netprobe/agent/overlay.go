package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/preflight/netprobe"
)

// overlay is a real VXLAN between the hosts, as in a pod network: frames of the kernel, with ICMP,
// UDP and TCP inside. Its interface is in a network namespace of this process, and ends with it;
// the frames leave from the host's namespace.
type overlay struct {
	a    *agent
	port int
	soft bool // checksums by the CPU
	space
}

const (
	// vxlanOverhead is an outer IPv4 header, UDP, VXLAN and an inner Ethernet header.
	vxlanOverhead = 50
	innerPort     = 7 // echo: RFC 862
)

// vni is the VXLAN network identifier, 24 bits from the token; the next one is the network with
// checksums by the CPU.
func (p hostPlan) vni() int { return int(binary.BigEndian.Uint32(p.Token[:4])>>8) &^ 1 }

// inner is a host's address in the VXLAN, from the benchmark range of RFC 2544.
func inner(i int) netip.Addr {
	i++
	return netip.AddrFrom4([4]byte{198, byte(18 + i>>16&1), byte(i >> 8), byte(i)})
}

const innerBits = 15

// innerMAC is a host's hardware address in the VXLAN: locally administered.
func innerMAC(i int) net.HardwareAddr {
	return net.HardwareAddr{0x02, 'a', 'g', byte(i >> 16), byte(i >> 8), byte(i)}
}

// listenVXLAN creates the networks, two for each port.
func (a *agent) listenVXLAN(ctx context.Context, underlay *net.Interface) {
	for _, port := range a.plan.VXLAN {
		for _, soft := range []bool{false, true} {
			o := &overlay{a: a, port: port, soft: soft}
			err := o.up(underlay)
			if err == nil {
				err = o.open(ctx, a)
			}
			if err != nil {
				a.report.listenFailed(netprobe.ListenError{Kind: netprobe.VXLANPing, Port: port, Layer: netprobe.AtSocket, Why: err.Error()})
				break
			}
			a.vxlan = append(a.vxlan, o)
			o.serve(ctx)
			a.background(ctx, func(ctx context.Context) {
				<-ctx.Done()
				o.ns.Close()
			})
		}
	}
}

// up creates the interface for the host's namespace, where its frames leave, and moves it into a
// new namespace.
func (o *overlay) up(underlay *net.Interface) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		done <- o.create(underlay)
	}()
	return <-done
}

func (o *overlay) create(underlay *net.Interface) error {
	if underlay == nil {
		return errors.New("no interface has the host's address")
	}
	outside, err := netlink.NewHandle()
	if err != nil {
		return err
	}
	defer outside.Close()
	if o.ns, err = netns.New(); err != nil { // moves this thread into it
		return fmt.Errorf("create a network namespace: %w", err)
	}
	vni := o.a.plan.vni()
	if o.soft {
		vni++
	}
	self := o.a.plan.Own().Address
	name := fmt.Sprintf("agp%x", vni)
	link := &netlink.Vxlan{
		LinkAttrs: netlink.LinkAttrs{Name: name, MTU: underlay.MTU - vxlanOverhead, HardwareAddr: innerMAC(o.a.plan.Self), Namespace: netlink.NsFd(o.ns)},
		VxlanId:   vni, VtepDevIndex: underlay.Index, SrcAddr: self.AsSlice(), Port: o.port, Learning: false,
	}
	if err := outside.LinkAdd(link); err != nil {
		return fmt.Errorf("create a VXLAN interface on port %d: %w", o.port, err)
	}
	return o.configure(name)
}

// configure runs in the new namespace.
func (o *overlay) configure(name string) error {
	inside, err := netlink.NewHandle()
	if err != nil {
		return err
	}
	defer inside.Close()
	link, err := inside.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find the VXLAN interface: %w", err)
	}
	own := &net.IPNet{IP: inner(o.a.plan.Self).AsSlice(), Mask: net.CIDRMask(innerBits, 32)}
	if err := inside.AddrAdd(link, &netlink.Addr{IPNet: own}); err != nil {
		return fmt.Errorf("add an address to the VXLAN interface: %w", err)
	}
	if o.soft {
		if err := checksumsInSoftware(name); err != nil {
			return err
		}
	}
	if err := inside.LinkSetUp(link); err != nil {
		return fmt.Errorf("bring up the VXLAN interface: %w", err)
	}
	for i, h := range o.a.plan.Hosts {
		if i == o.a.plan.Self {
			continue
		}
		forward := &netlink.Neigh{LinkIndex: link.Attrs().Index, Family: unix.AF_BRIDGE, State: netlink.NUD_PERMANENT, Flags: netlink.NTF_SELF, IP: h.Address.AsSlice(), HardwareAddr: innerMAC(i)}
		neighbor := &netlink.Neigh{LinkIndex: link.Attrs().Index, Family: unix.AF_INET, State: netlink.NUD_PERMANENT, IP: inner(i).AsSlice(), HardwareAddr: innerMAC(i)}
		if err := errors.Join(inside.NeighSet(forward), inside.NeighSet(neighbor)); err != nil {
			return fmt.Errorf("add %s to the VXLAN interface: %w", h.Name, err)
		}
	}
	return nil
}

// serve echoes datagrams and answers a stream with digests. It listens when it returns, because
// the tests begin when all hosts are ready.
func (o *overlay) serve(ctx context.Context) {
	at := netip.AddrPortFrom(inner(o.a.plan.Self), innerPort).String()
	var listener net.Listener
	var datagrams net.PacketConn
	err := o.within(func() (err error) {
		var config net.ListenConfig
		if listener, err = config.Listen(ctx, "tcp4", at); err != nil {
			return err
		}
		datagrams, err = config.ListenPacket(ctx, "udp4", at)
		return err
	})
	if err != nil {
		o.a.report.listenFailed(netprobe.ListenError{Kind: netprobe.VXLANTCP, Port: o.port, Layer: netprobe.AtSocket, Why: reason(err)})
		return
	}
	context.AfterFunc(ctx, func() { listener.Close(); datagrams.Close() })
	o.a.background(ctx, func(context.Context) { o.echo(datagrams) })
	o.a.background(ctx, func(ctx context.Context) { o.digest(ctx, listener) })
}

func (o *overlay) echo(conn net.PacketConn) {
	buf := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if s, ok := o.a.plan.observation(buf[:n], 0, netprobe.AtSocket); ok {
			o.a.report.saw(s)
			_, _ = conn.WriteTo(buf[:n], from)
		}
	}
}

// digest answers each piece with its digest. It closes more than maxConversations connections.
func (o *overlay) digest(ctx context.Context, listener net.Listener) {
	free := make(chan struct{}, maxConversations)
	for ctx.Err() == nil {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		resetOnClose(conn)
		select {
		case free <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		o.a.background(ctx, func(ctx context.Context) {
			defer func() { <-free }()
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			buf := make([]byte, piece)
			for {
				_ = conn.SetDeadline(time.Now().Add(2 * stalled))
				if _, err := io.ReadFull(conn, buf); err != nil {
					return
				}
				sum := sha256.Sum256(buf)
				if _, err := conn.Write(sum[:]); err != nil {
					return
				}
			}
		})
	}
}

func (o *overlay) attempt(to int, kind netprobe.Kind, err error) netprobe.Attempt {
	a := netprobe.Attempt{To: to, Kind: kind, Port: o.port, Result: netprobe.Answered}
	if err != nil {
		a.Result, a.Said = failed(err), reason(err)
	}
	return a
}

func (o *overlay) ping(to int) error {
	var conn *icmp.PacketConn
	if err := o.within(func() (err error) {
		conn, err = icmp.ListenPacket("ip4:icmp", inner(o.a.plan.Self).String())
		return err
	}); err != nil {
		return err
	}
	defer conn.Close()
	payload := message{kind: netprobe.VXLANPing, from: o.a.plan.Self, to: to, port: o.port, clock: time.Now()}.encode(o.a.plan.Token)
	request := icmp.Message{Type: ipv4.ICMPTypeEcho, Body: &icmp.Echo{ID: o.a.plan.Self & 0xffff, Data: payload}}
	b, err := request.Marshal(nil)
	if err != nil {
		return err
	}
	buf := make([]byte, 1500)
	for range tries {
		if _, err = conn.WriteTo(b, &net.IPAddr{IP: inner(to).AsSlice()}); err != nil {
			continue
		}
		_ = conn.SetReadDeadline(time.Now().Add(tryEvery))
		for {
			var n int
			if n, _, err = conn.ReadFrom(buf); err != nil {
				break
			}
			if bytes.Contains(buf[:n], payload) {
				return nil
			}
		}
	}
	return err
}

func (o *overlay) datagram(ctx context.Context, to int) error {
	conn, err := o.dial(ctx, "udp4", to)
	if err != nil {
		return err
	}
	defer conn.Close()
	m := message{kind: netprobe.VXLANUDP, from: o.a.plan.Self, to: to, port: o.port, clock: time.Now()}.padded(o.a.plan.Token, 1000)
	buf := make([]byte, 2000)
	for range tries {
		_ = conn.SetDeadline(time.Now().Add(tryEvery))
		if _, err = conn.Write(m); err != nil {
			continue
		}
		var n int
		if n, err = conn.Read(buf); err == nil && bytes.Equal(buf[:n], m) {
			return nil
		}
	}
	return err
}

// resetOnClose drops unsent data when the connection is closed. Otherwise the kernel sends it again
// for minutes, and keeps the namespace and the port of the tunnel. The side that closes first has
// all its data.
func resetOnClose(conn net.Conn) {
	if stream, is := conn.(*net.TCPConn); is {
		_ = stream.SetLinger(0) // a broken socket has no data
	}
}

func (o *overlay) dial(ctx context.Context, network string, to int) (conn net.Conn, err error) {
	dialer := net.Dialer{Timeout: stalled}
	err = o.within(func() (err error) {
		conn, err = dialer.DialContext(ctx, network, netip.AddrPortFrom(inner(to), innerPort).String())
		return err
	})
	return conn, err
}

// checksumsInSoftware disables checksum offload for the interface, like `ethtool --offload NAME
// tx-checksum-ip-generic off`.
func checksumsInSoftware(name string) error {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return fmt.Errorf("disable checksum offload: %w", err)
	}
	defer e.Close()
	if err := e.Change(name, map[string]bool{"tx-checksum-ip-generic": false}); err != nil {
		return fmt.Errorf("disable checksum offload: %w", err)
	}
	return nil
}
