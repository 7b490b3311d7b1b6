// Package podpath tries the way of pods' packets through a host, before the host has a cluster: from
// one network namespace through the host's own rules to another one, with addresses of the pod and
// Service subnets.
//
// It changes nothing that lasts. Its namespaces have no names, and its interfaces in the host's
// namespace are the ends of veth pairs into them: the kernel removes them with their addresses, routes
// and settings when this process ends, also if it is killed. Forwarding is on for these interfaces
// alone (net.ipv4.conf.NAME.forwarding), and no rule of the packet filter is added.
package podpath

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/packetfilter"
)

// prefix is the beginning of the names of all interfaces. An interface with such a name from an
// earlier run is removed.
const prefix = "agtry"

// gateway is the address of the host for the namespaces. No interface has it.
func gateway() netip.Addr { return netip.AddrFrom4([4]byte{169, 254, 1, 1}) }

// end is a namespace: a pod.
type end struct {
	ns       netns.NsHandle
	name     string // of the interface in the host's namespace
	in, out  net.HardwareAddr
	pod, svc netip.Addr // svc is the zero value for the pod that only sends
}

// Try sends TCP and UDP from one address of the pod subnet to another one, and to a Service address.
// It needs root. The namespace of the calling thread is the host's.
func Try(ctx context.Context, h host.Host, pods, services netip.Prefix) facts.PodPath {
	if !pods.Addr().Is4() || pods.Bits() > 28 || !services.Addr().Is4() || services.Bits() > 28 {
		return facts.PodPath{Outcome: facts.Outcome{Skipped: "the pod and Service subnets are not IPv4, or are too small"}}
	}
	outside, err := netns.Get()
	if err != nil {
		return facts.PodPath{Outcome: facts.OutcomeOf(fmt.Errorf("find the network namespace of this host: %w", err))}
	}
	defer outside.Close()
	held, err := hold(ctx, outside)
	if err != nil {
		return facts.PodPath{Outcome: facts.OutcomeOf(err)}
	}
	defer held.Close()
	before := counters(ctx, h)
	lost, err := try(ctx, outside, pods, services)
	var used *usedError
	switch {
	case errors.As(err, &used):
		return facts.PodPath{Outcome: facts.Outcome{Skipped: used.Error()}}
	case err != nil:
		return facts.PodPath{Outcome: facts.OutcomeOf(err)}
	}
	path := facts.PodPath{Outcome: facts.OutcomeOf(nil)}
	for _, a := range lost {
		path.Lost = append(path.Lost, fmt.Sprintf("%s (%s)", a.name, reason(a.err)))
	}
	if len(lost) > 0 {
		after := counters(ctx, h)
		for _, rule := range after.order {
			if after.packets[rule] > before.packets[rule] {
				path.Rules = append(path.Rules, rule)
			}
		}
	}
	if len(path.Rules) == 0 {
		path.Rules = ending(ctx, h, lost)
	}
	return path
}

// hold waits until no other process runs this test on the host. The name of an abstract socket belongs
// to the network namespace, and is free again when the process ends.
func hold(ctx context.Context, outside netns.NsHandle) (held io.Closer, err error) {
	err = await.Until(ctx, 15*time.Second, func(ctx context.Context) error {
		return within(outside, func() (err error) {
			var config net.ListenConfig
			held, err = config.Listen(ctx, "unix", "@airgap-podpath")
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("wait for another test of pods' packets on this host: %w", err)
	}
	return held, nil
}

// usedError reports that the host already has routes into the subnets.
type usedError struct{ route string }

func (e *usedError) Error() string {
	return "this host has a route into the pod or Service subnet: " + e.route
}

func try(ctx context.Context, outside netns.NsHandle, pods, services netip.Prefix) (lost []*attempt, err error) {
	handle, err := netlink.NewHandleAt(outside)
	if err != nil {
		return nil, fmt.Errorf("open netlink: %w", err)
	}
	defer handle.Close()
	if err := unused(handle, pods, services); err != nil {
		return nil, err
	}
	ends := []*end{
		{ns: netns.None(), name: prefix + "0", pod: fromEnd(pods, 6), in: net.HardwareAddr{2, 'a', 'g', 't', 0, 1}, out: net.HardwareAddr{2, 'a', 'g', 't', 0, 2}},
		{ns: netns.None(), name: prefix + "1", pod: fromEnd(pods, 5), svc: fromEnd(services, 6), in: net.HardwareAddr{2, 'a', 'g', 't', 1, 1}, out: net.HardwareAddr{2, 'a', 'g', 't', 1, 2}},
	}
	defer func() {
		err = errors.Join(err, clean(handle)) // before the namespaces end, which would remove them later
		for _, e := range ends {
			if e.ns.IsOpen() {
				err = errors.Join(err, e.ns.Close())
			}
		}
	}()
	if err := clean(handle); err != nil {
		return nil, err
	}
	for _, e := range ends {
		if err := e.up(handle, outside); err != nil {
			return nil, fmt.Errorf("set up a network namespace for a test: %w", err)
		}
	}
	return connect(ctx, ends[0], ends[1])
}

// unused fails if a route other than a default route leads into the subnets: packets of the site would
// go astray during the test.
func unused(handle *netlink.Handle, subnets ...netip.Prefix) error {
	routes, err := handle.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("list the routes: %w", err)
	}
	for _, route := range routes {
		if route.Dst == nil {
			continue
		}
		address, ok := netip.AddrFromSlice(route.Dst.IP.To4())
		bits, _ := route.Dst.Mask.Size()
		to := netip.PrefixFrom(address, bits)
		if ok && bits > 0 && slices.ContainsFunc(subnets, to.Overlaps) {
			return &usedError{to.String()}
		}
	}
	return nil
}

// fromEnd is an address near the end of a subnet.
func fromEnd(subnet netip.Prefix, n int) netip.Addr {
	address := subnet.Masked().Addr().As4()
	for bit := subnet.Bits(); bit < 32; bit++ {
		address[bit/8] |= 1 << (7 - bit%8)
	}
	last := netip.AddrFrom4(address)
	for range n {
		last = last.Prev()
	}
	return last
}

// clean removes the interfaces of this run, or of an earlier one.
func clean(handle *netlink.Handle) error {
	for _, n := range []string{"0", "1"} {
		link, err := handle.LinkByName(prefix + n)
		if _, missing := errors.AsType[netlink.LinkNotFoundError](err); missing {
			continue
		}
		if err == nil {
			err = handle.LinkDel(link)
		}
		if err != nil && !errors.Is(err, unix.ENODEV) { // it can end by itself
			return fmt.Errorf("remove interface %s%s: %w", prefix, n, err)
		}
	}
	return nil
}

// up creates the namespace and its way to the host.
func (e *end) up(handle *netlink.Handle, outside netns.NsHandle) error {
	if err := onThread(func() (err error) { e.ns, err = netns.New(); return err }); err != nil {
		return err
	}
	pair := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: e.name, HardwareAddr: e.out}, PeerName: "eth0",
		PeerHardwareAddr: e.in, PeerNamespace: netlink.NsFd(e.ns),
	}
	if err := handle.LinkAdd(pair); err != nil {
		return fmt.Errorf("create interface %s: %w", e.name, err)
	}
	link, err := handle.LinkByName(e.name)
	if err != nil {
		return err
	}
	if err := handle.LinkSetUp(link); err != nil {
		return err
	}
	if err := within(outside, func() error {
		return os.WriteFile("/proc/sys/net/ipv4/conf/"+e.name+"/forwarding", []byte("1"), 0)
	}); err != nil {
		return fmt.Errorf("turn on forwarding for interface %s: %w", e.name, err)
	}
	if err := e.inside(); err != nil {
		return err
	}
	for _, to := range e.addresses() {
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: alone(to), Scope: netlink.SCOPE_LINK}
		if err := errors.Join(handle.NeighSet(neighbor(link, to, e.in)), handle.RouteAdd(route)); err != nil {
			return fmt.Errorf("add the way to %s: %w", to, err)
		}
	}
	return nil
}

// inside gives the namespace its addresses and its route.
func (e *end) inside() error {
	handle, err := netlink.NewHandleAt(e.ns)
	if err != nil {
		return err
	}
	defer handle.Close()
	link, err := handle.LinkByName("eth0")
	if err != nil {
		return err
	}
	for _, own := range e.addresses() {
		if err := handle.AddrAdd(link, &netlink.Addr{IPNet: alone(own)}); err != nil {
			return err
		}
	}
	if err := errors.Join(handle.LinkSetUp(link), handle.NeighSet(neighbor(link, gateway(), e.out))); err != nil {
		return err
	}
	near := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: alone(gateway()), Scope: netlink.SCOPE_LINK}
	if err := handle.RouteAdd(near); err != nil {
		return err
	}
	return handle.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: gateway().AsSlice()})
}

func (e *end) addresses() []netip.Addr {
	if e.svc.IsValid() {
		return []netip.Addr{e.pod, e.svc}
	}
	return []netip.Addr{e.pod}
}

func alone(a netip.Addr) *net.IPNet {
	return &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(32, 32)}
}

func neighbor(link netlink.Link, to netip.Addr, at net.HardwareAddr) *netlink.Neigh {
	return &netlink.Neigh{LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT, IP: to.AsSlice(), HardwareAddr: at}
}

// onThread runs do on a thread that ends with it.
func onThread(do func() error) error {
	var err error
	var wait sync.WaitGroup
	wait.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err = do()
	})
	wait.Wait()
	return err
}

// within runs do in a namespace. A socket stays in the namespace that created it.
func within(ns netns.NsHandle, do func() error) error {
	return onThread(func() error {
		if err := netns.Set(ns); err != nil {
			return err
		}
		return do()
	})
}

// counted are the packets that each rule has dropped or rejected.
type counted struct {
	order   []string
	packets map[string]uint64
}

// counters are empty if nft cannot answer: the rule is then not named.
func counters(ctx context.Context, h host.Host) counted {
	out, err := h.Run(ctx, host.Cmd{Name: "nft", Args: []string{"list", "ruleset"}, Env: []string{"LC_ALL=C"}})
	if err != nil {
		return counted{}
	}
	order, packets := packetfilter.Dropped(string(out))
	return counted{order, packets}
}
