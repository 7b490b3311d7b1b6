package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// A Network is the bank's: one network namespace with a bridge in it, one
// further namespace a server, and nothing that leads out. The bridge has an
// address and the servers have it as their router, but it knows no other
// network, so it answers "network unreachable" to everything that leaves
// 10.88.0.0/24.
type Network struct {
	run string
}

const bridge = "br0"

var (
	subnet = netip.MustParsePrefix("10.88.0.0/24")
	router = netip.MustParseAddr("10.88.0.1")
)

// nodeAddr is the address of server i, counted from 0: 10.88.0.11 and on.
func nodeAddr(i int) netip.Addr {
	a := subnet.Addr().As4()
	a[3] = byte(11 + i)
	return netip.AddrFrom4(a)
}

// mac is the hardware address of the card with this address. It is the same after a power cut, as
// a machine's is. A bridge without one of its own takes a port's, and another one when that port
// goes. Its neighbours then send to nobody as long as they remember the old one: 45 s in scenario ha.
func mac(addr netip.Addr) string {
	a := addr.As4()
	return fmt.Sprintf("52:54:00:%02x:%02x:%02x", a[1], a[2], a[3])
}

func (n Network) name() string              { return "airgap-" + n.run }
func (n Network) nodeNS(node string) string { return n.name() + "-" + node }

// Path is the file to give to nsenter --net. `ip netns exec` will not do: it
// mounts a fresh /sys over the cgroups.
func (n Network) Path() string { return nsPath(n.name()) }

func nsPath(name string) string { return filepath.Join("/run/netns", name) }

func (n Network) create(ctx context.Context) error {
	if _, err := outer(ctx, "", "ip", "netns", "add", n.name()); err != nil {
		return err
	}
	if err := batch(ctx, n.name(),
		"link set lo up",
		fmt.Sprintf("link add %s address %s type bridge", bridge, mac(router)),
		fmt.Sprintf("addr add %s/%d dev %s", router, subnet.Bits(), bridge),
		"link set "+bridge+" up",
	); err != nil {
		return err
	}
	// A router without routes says so at once; one that does not forward
	// swallows the packet and every test of the air gap waits for a timeout.
	if _, err := n.enter(ctx, "", "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.icmp_ratelimit=0"); err != nil {
		return err
	}
	return n.createRules(ctx)
}

// connect gives a server a fresh namespace with eth0 in it, as a machine that
// was just switched on has no links, rules or routes of an earlier life.
func (n Network) connect(ctx context.Context, node string, addr netip.Addr) error {
	if err := n.disconnect(ctx, node); err != nil {
		return err
	}
	// The kernel takes its time to remove the port of a namespace that is gone.
	if n.plugged(ctx, node) {
		_ = batch(ctx, n.name(), "link delete "+node) // or it went meanwhile
	}
	ns := n.nodeNS(node)
	if _, err := outer(ctx, "", "ip", "netns", "add", ns); err != nil {
		return err
	}
	if err := batch(ctx, n.name(),
		fmt.Sprintf("link add %s type veth peer name eth0 address %s netns %s", node, mac(addr), ns),
		fmt.Sprintf("link set %s master %s up", node, bridge),
	); err != nil {
		return err
	}
	return batch(ctx, ns, append(eth0(addr), "link set lo up")...)
}

func (n Network) disconnect(ctx context.Context, node string) error {
	return deleteNS(ctx, n.nodeNS(node))
}

// Slow limits what a server sends, in tc's words ("40mbit"), until it is switched
// off: its link is a new one then.
func (l *Lab) Slow(ctx context.Context, m Machine, rate string) error {
	_, err := outer(ctx, "", "nsenter", "--net="+nsPath(l.Network.nodeNS(m.Name())), "tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "64kb", "latency", "50ms")
	return err
}

// eth0 is what `ip -batch` makes a server's link of.
func eth0(addr netip.Addr) []string {
	return []string{
		fmt.Sprintf("addr add %s/%d dev eth0", addr, subnet.Bits()),
		"link set eth0 up",
		fmt.Sprintf("route add default via %s", router),
	}
}

// plug gives the bridge a port for an emulated machine's network card, which
// configures itself.
func (n Network) plug(ctx context.Context, node string) error {
	if err := n.unplug(ctx, node); err != nil {
		return err
	}
	return batch(ctx, n.name(),
		fmt.Sprintf("tuntap add dev %s mode tap", node),
		fmt.Sprintf("link set %s master %s up", node, bridge),
	)
}

func (n Network) unplug(ctx context.Context, node string) error {
	if _, err := os.Stat(n.Path()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if !n.plugged(ctx, node) {
		return nil
	}
	return batch(ctx, n.name(), "link delete "+node)
}

// plugged reports whether the switch has a port for the node.
func (n Network) plugged(ctx context.Context, node string) bool {
	_, err := n.enter(ctx, "", "ip", "link", "show", "dev", node)
	return err == nil
}

func (n Network) delete(ctx context.Context) error {
	return deleteNS(ctx, n.name())
}

// enter runs a program of the outer machine inside the lab's namespace.
func (n Network) enter(ctx context.Context, stdin string, args ...string) (string, error) {
	return outer(ctx, stdin, append([]string{"nsenter", "--net=" + n.Path()}, args...)...)
}

func batch(ctx context.Context, ns string, lines ...string) error {
	_, err := outer(ctx, strings.Join(lines, "\n"), "ip", "-n", ns, "-batch", "-")
	return err
}

func deleteNS(ctx context.Context, name string) error {
	if _, err := os.Stat(nsPath(name)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	_, err := outer(ctx, "", "ip", "netns", "delete", name)
	return err
}
