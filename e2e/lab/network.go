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

// A Network is the site's network: one network namespace with a bridge, and one more
// namespace for each server. The servers' default route goes to the bridge's address. The
// bridge has no route to other networks, so it answers "network unreachable" to all packets
// to addresses outside of 10.88.0.0/24.
type Network struct {
	run string
}

const bridge = "br0"

var (
	subnet = netip.MustParsePrefix("10.88.0.0/24")
	router = netip.MustParseAddr("10.88.0.1")
)

// nodeAddr returns the address of server i, counted from 0. The first one is 10.88.0.11.
func nodeAddr(i int) netip.Addr {
	a := subnet.Addr().As4()
	a[3] = byte(11 + i)
	return netip.AddrFrom4(a)
}

// mac returns the hardware address for an IP address. Like a real machine's, it is the same after
// a power cut. A bridge without a fixed hardware address uses the one of a port, and changes it when
// the port is removed. Its neighbours then send to the old address until their ARP entry expires:
// 45 s in scenario ha.
func mac(addr netip.Addr) string {
	a := addr.As4()
	return fmt.Sprintf("52:54:00:%02x:%02x:%02x", a[1], a[2], a[3])
}

func (n Network) name() string              { return "airgap-" + n.run }
func (n Network) nodeNS(node string) string { return n.name() + "-" + node }

// Path is the file for nsenter --net. Do not use `ip netns exec`: it mounts a new /sys over
// the cgroups.
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
	// A router without routes sends an ICMP error at once. Without forwarding, it drops the
	// packet silently, and every test of the air gap waits for a timeout.
	if _, err := n.enter(ctx, "", "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.icmp_ratelimit=0"); err != nil {
		return err
	}
	return n.createRules(ctx)
}

// connect makes a new namespace with eth0 for a server: after a power cut, a machine has no
// links, rules or routes from before.
func (n Network) connect(ctx context.Context, node string, addr netip.Addr) error {
	if err := n.disconnect(ctx, node); err != nil {
		return err
	}
	// The kernel removes the port of a deleted namespace with a delay.
	if n.plugged(ctx, node) {
		_ = batch(ctx, n.name(), "link delete "+node) // fails if the kernel has removed it meanwhile
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

// Slow limits the rate at which a server sends, in tc's format ("40mbit"), until it is
// switched off: the next start makes a new link.
func (l *Lab) Slow(ctx context.Context, m Machine, rate string) error {
	_, err := outer(ctx, "", "nsenter", "--net="+nsPath(l.Network.nodeNS(m.Name())), "tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "64kb", "latency", "50ms")
	return err
}

// eth0 returns the lines of `ip -batch` that configure a server's link.
func eth0(addr netip.Addr) []string {
	return []string{
		fmt.Sprintf("addr add %s/%d dev eth0", addr, subnet.Bits()),
		"link set eth0 up",
		fmt.Sprintf("route add default via %s", router),
	}
}

// plug adds a bridge port for the network interface of an emulated machine. The machine
// configures the interface itself.
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

// plugged reports whether the bridge has a port for the node.
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
