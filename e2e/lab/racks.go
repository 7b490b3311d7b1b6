package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// A Shape is how the hosts of Racks are connected.
type Shape string

// Shapes of a network.
const (
	Routed   Shape = "routed"    // each host is in a separate network behind one router
	Switched Shape = "switched"  // all hosts are on one switch, which is the router, too
	TwoPaths Shape = "two paths" // node1 and node2 are behind one router, the others behind router2, and two equal paths connect these
)

// Plan is the plan of a network between hosts. The zero value of a field is its default.
type Plan struct {
	Shape         Shape
	Hosts         int // default: 3
	ControlPlanes int // default: 1, or all hosts with Balanced
	MTU           int // of all interfaces; default: 1500
	Balanced      bool
	Config        string // lines for the end of airgap.yaml
}

// Racks is a network between hosts, in network namespaces only: no server boots. Packets
// between hosts pass the namespace "router", whose rules can drop, change or delay those of one
// direction, one flow or one size. Namespaces end with Close.
type Racks struct {
	Plan

	name    string
	dir     string // files of the hosts
	spaces  []string
	ends    []func() error // of programs and listeners
	bundled string         // directory of the bundle
}

// Names of namespaces, besides those of the hosts.
const (
	RouterSpace   = "router"
	FarRouter     = "router2"
	UpperPath     = "upper"
	LowerPath     = "lower"
	BalancerSpace = "balancer"
)

// meetingPort is the port on which node1 waits for the other hosts. No fault is in its way: with
// SSH between the hosts, a measurement does not need it.
const meetingPort = 5999

var racks atomic.Int64

// NewRacks creates the network. dir is for files, and must exist.
func NewRacks(ctx context.Context, plan Plan, dir string) (*Racks, error) {
	if plan.Shape == "" {
		plan.Shape = Routed
	}
	if plan.Hosts == 0 {
		plan.Hosts = 3
	}
	switch {
	case plan.ControlPlanes == 0 && plan.Balanced:
		plan.ControlPlanes = plan.Hosts
	case plan.ControlPlanes == 0:
		plan.ControlPlanes = 1
	}
	if plan.MTU == 0 {
		plan.MTU = 1500
	}
	r := &Racks{Plan: plan, dir: dir, name: fmt.Sprintf("agr%d-%d-", os.Getpid(), racks.Add(1))}
	if err := r.create(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("create a network: %w", err), r.Close())
	}
	return r, nil
}

// Close ends the programs and removes the namespaces.
func (r *Racks) Close() error {
	var errs []error
	for _, end := range slices.Backward(r.ends) {
		errs = append(errs, end())
	}
	for _, space := range r.spaces {
		errs = append(errs, deleteNS(context.Background(), r.space(space)))
	}
	return errors.Join(errs...)
}

// staleAfter is longer than a network exists. Another program may have the number of a process that
// was killed.
const staleAfter = time.Hour

// SweepRacks removes the namespaces of processes that were killed.
func SweepRacks(ctx context.Context) error {
	files, err := filepath.Glob("/run/netns/agr*-*-*")
	for _, file := range files {
		name := filepath.Base(file)
		pid, _, _ := strings.Cut(strings.TrimPrefix(name, "agr"), "-")
		made, errStat := os.Stat(file)
		if _, errGone := os.Stat("/proc/" + pid); errors.Is(errGone, os.ErrNotExist) || errStat == nil && time.Since(made.ModTime()) > staleAfter {
			err = errors.Join(err, deleteNS(ctx, name))
		}
	}
	return err
}

func (r *Racks) space(name string) string { return r.name + name }

// Node is the name of a host, counted from 1.
func Node(i int) string { return fmt.Sprintf("node%d", i) }

// Addr returns the address of a host, counted from 1.
func (r *Racks) Addr(i int) netip.Addr {
	if r.Shape == Switched {
		return netip.AddrFrom4([4]byte{10, 90, 0, byte(10 + i)})
	}
	return netip.AddrFrom4([4]byte{10, 90, byte(i), 11})
}

// gateway returns the router's address in the network of host i; 0 is the balancer.
func (r *Racks) gateway(i int) netip.Addr {
	switch {
	case r.Shape == Switched:
		i = 0
	case i == 0:
		i = 100
	}
	return netip.AddrFrom4([4]byte{10, 90, byte(i), 1})
}

// VIP is the address of the control plane, and Balancer the balancer's own address.
func (r *Racks) VIP() netip.Addr { return r.Balancer().Next() }

// Balancer is the balancer's own address.
func (r *Racks) Balancer() netip.Addr {
	if r.Shape == Switched {
		return netip.AddrFrom4([4]byte{10, 90, 0, 99})
	}
	return netip.AddrFrom4([4]byte{10, 90, 100, 99})
}

// nameServer is the site's name server, in the router's namespace.
var nameServer = netip.MustParseAddr("10.90.53.53")

func (r *Racks) create(ctx context.Context) error {
	names := []string{RouterSpace}
	if r.Shape == TwoPaths {
		names = append(names, FarRouter, UpperPath, LowerPath)
	}
	if r.Balanced {
		names = append(names, BalancerSpace)
	}
	for i := range r.Hosts {
		names = append(names, Node(i+1))
	}
	for _, name := range names {
		if _, err := outer(ctx, "", "ip", "netns", "add", r.space(name)); err != nil {
			return err
		}
		r.spaces = append(r.spaces, name)
		if err := r.IP(ctx, name, "link set lo up"); err != nil {
			return err
		}
	}
	return errors.Join(r.createRouters(ctx), r.createHosts(ctx), r.createNames(ctx))
}

// createRouters creates routers that forward, and that answer each packet that is too large.
func (r *Racks) createRouters(ctx context.Context) error {
	for _, name := range r.spaces {
		switch name {
		case RouterSpace, FarRouter, UpperPath, LowerPath:
			if err := r.Sysctl(ctx, name, "net.ipv4.ip_forward=1", "net.ipv4.icmp_ratelimit=0", "net.ipv4.fib_multipath_hash_policy=1"); err != nil {
				return err
			}
		}
	}
	switch r.Shape {
	case Switched:
		return r.IP(ctx, RouterSpace, fmt.Sprintf("link add br0 mtu %d type bridge", r.MTU), fmt.Sprintf("addr add %s/24 dev br0", r.gateway(0)), "link set br0 up")
	case TwoPaths:
		return r.createPaths(ctx)
	default:
		return nil
	}
}

// createPaths connects the two routers through two more routers. Each flow takes one of the paths.
func (r *Racks) createPaths(ctx context.Context) error {
	for i, path := range []string{UpperPath, LowerPath} {
		for side, router := range []string{RouterSpace, FarRouter} {
			near := netip.AddrFrom4([4]byte{10, 91, byte(2*i + side), 1})
			if err := errors.Join(
				r.IP(ctx, router, fmt.Sprintf("link add %[1]s mtu %[4]d type veth peer name %[2]s mtu %[4]d netns %[3]s", path, router, r.space(path), r.MTU),
					fmt.Sprintf("addr add %s/30 dev %s", near, path), "link set "+path+" up"),
				r.IP(ctx, path, fmt.Sprintf("addr add %s/30 dev %s", near.Next(), router), "link set "+router+" up"),
			); err != nil {
				return err
			}
		}
		if err := r.IP(ctx, path, fmt.Sprintf("route add 10.90.0.0/16 via 10.91.%d.1", 2*i)); err != nil {
			return err
		}
		for host := 3; host <= r.Hosts; host++ {
			if err := r.IP(ctx, path, fmt.Sprintf("route add %s/32 via 10.91.%d.1", r.Addr(host), 2*i+1)); err != nil {
				return err
			}
		}
	}
	err := r.IP(ctx, FarRouter, "route add 10.90.0.0/16 nexthop via 10.91.1.2 nexthop via 10.91.3.2")
	for host := 3; host <= r.Hosts; host++ {
		err = errors.Join(err, r.IP(ctx, RouterSpace, fmt.Sprintf("route add %s/32 nexthop via 10.91.0.2 nexthop via 10.91.2.2", r.Addr(host))))
	}
	return err
}

func (r *Racks) createHosts(ctx context.Context) error {
	for i := 1; i <= r.Hosts; i++ {
		router := RouterSpace
		if r.Shape == TwoPaths && i > 2 {
			router = FarRouter
		}
		if err := errors.Join(r.attach(ctx, router, Node(i), r.Addr(i), r.gateway(i)), r.writeHost(i)); err != nil {
			return err
		}
	}
	if r.Balanced {
		return r.attach(ctx, RouterSpace, BalancerSpace, r.Balancer(), r.gateway(0))
	}
	return nil
}

// attach connects a namespace to a router, or to the switch.
func (r *Racks) attach(ctx context.Context, router, name string, addr, gateway netip.Addr) error {
	lines := []string{fmt.Sprintf("link add %s mtu %d type veth peer name eth0 mtu %d address %s netns %s", name, r.MTU, r.MTU, mac(addr), r.space(name))}
	if r.Shape == Switched {
		lines = append(lines, "link set "+name+" master br0 up")
	} else {
		lines = append(lines, fmt.Sprintf("addr add %s/24 dev %s", gateway, name), "link set "+name+" up")
	}
	return errors.Join(
		r.IP(ctx, router, lines...),
		r.IP(ctx, name, fmt.Sprintf("addr add %s/24 dev eth0", addr), "link set eth0 up", fmt.Sprintf("route add default via %s", gateway)))
}

// IP runs lines of `ip -batch` in a namespace.
func (r *Racks) IP(ctx context.Context, name string, lines ...string) error {
	return batch(ctx, r.space(name), r.named(lines)...)
}

// Sysctl sets kernel parameters of a namespace.
func (r *Racks) Sysctl(ctx context.Context, name string, settings ...string) error {
	_, err := r.enter(ctx, name, "", append([]string{"sysctl", "-qw"}, settings...)...)
	return err
}

// NFT loads rules in a namespace.
func (r *Racks) NFT(ctx context.Context, name, rules string) error {
	_, err := r.enter(ctx, name, r.names().Replace(rules), "nft", "-f", "-")
	return err
}

// Run runs a program in a namespace.
func (r *Racks) Run(ctx context.Context, name, stdin string, args ...string) error {
	_, err := r.enter(ctx, name, r.names().Replace(stdin), r.named(args)...)
	return err
}

func (r *Racks) enter(ctx context.Context, name, stdin string, args ...string) (string, error) {
	return outer(ctx, stdin, append([]string{"nsenter", "--net=" + nsPath(r.space(name))}, args...)...)
}

// names replaces names in rules and commands: addresses ($node1, $balancer, $vip, $names), hardware
// addresses ($mac1, $macbalancer), the port $meeting, and namespaces (@node1).
func (r *Racks) names() *strings.Replacer {
	pairs := []string{"$balancer", r.Balancer().String(), "$vip", r.VIP().String(), "$names", nameServer.String(), "$meeting", fmt.Sprint(meetingPort), "$macbalancer", mac(r.Balancer())}
	for i := 1; i <= r.Hosts; i++ {
		pairs = append(pairs, "$"+Node(i), r.Addr(i).String(), "$mac"+fmt.Sprint(i), mac(r.Addr(i)), "@"+Node(i), r.space(Node(i)))
	}
	return strings.NewReplacer(pairs...)
}

func (r *Racks) named(texts []string) []string {
	replaced := make([]string, len(texts))
	for i, text := range texts {
		replaced[i] = r.names().Replace(text)
	}
	return replaced
}
