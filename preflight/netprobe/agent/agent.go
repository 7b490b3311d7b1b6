// Package agent measures the network on one host of a netprobe.Plan: it listens, captures packets and tests
// the other hosts, and returns a netprobe.Report.
//
// An agent sends packets only to the hosts of the plan, and accepts only messages with an HMAC of the plan's
// one-time token. It does not change the host: other processes see no new address, route, rule or interface.
package agent

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

// atOnce is the number of hosts that are tested in parallel.
const atOnce = 8

// agent is the part of a measurement on this host.
type agent struct {
	plan   hostPlan
	report *record
	wait   sync.WaitGroup
	vxlan  []*overlay
	sender *sender // nil without tests of packets with pod addresses
	// identity is the TLS configuration of the plan's token, made once.
	identity func() (*tls.Config, error)
	vip      *netprobe.VIP // nil without a load balancer
	endpoint []netip.Addr  // IPv4 addresses of the load balancer

	// dropped are the packets that the reverse path filter had dropped before the measurement.
	dropped int

	arrivals arrivals
	capture  capture
	traces   traces
}

// Run listens on this host, tests the other hosts after begin is closed, and listens until end is
// closed, so that they can test this host. It calls ready when it listens, and measured after its
// tests. The report has the tests that are not possible on this host, and the packets of the failed
// connections that end brings. The error is about an invalid plan, the host's own address, or a timeout.
func Run(ctx context.Context, plan *netprobe.Plan, ready func(), begin <-chan struct{}, measured func([]netprobe.Failed), end <-chan []netprobe.Failed) (*netprobe.Report, error) {
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, plan.Limit.Duration())
	defer cancel()
	a, err := newAgent(hostPlan{plan})
	if err != nil {
		return nil, err
	}
	listening, stop := context.WithCancel(ctx)
	a.listen(listening)
	ready()
	_, err = await(ctx, begin)
	var failed []netprobe.Failed
	var dropping *netprobe.ReversePath
	if err == nil {
		a.tryAll(ctx)
		measured(a.traces.failed(a.report))
		failed, err = await(ctx, end)
	}
	if err == nil {
		a.explainClosed(ctx)
		dropping = reversePath(ctx, a.plan, a.dropped)
	}
	stop()
	a.wait.Wait()
	a.report.ReversePath = dropping
	traced := a.traces.packets(a.report, failed)
	a.report.Packets = append(traced, a.capture.packets(a.report, netprobe.MaxPackets-len(traced))...)
	a.report.sorted()
	return a.report.Report, err
}

func await[T any](ctx context.Context, signal <-chan T) (got T, err error) {
	select {
	case got = <-signal:
		return got, nil
	case <-ctx.Done():
		return got, fmt.Errorf("measure the network: %w", ctx.Err())
	}
}

// newAgent reads this host's identity and network for the report.
func newAgent(plan hostPlan) (*agent, error) {
	ifi, network, err := ownInterface(plan.Own())
	if err != nil {
		return nil, err
	}
	macs, err := hardwareAddresses(ifi)
	if err != nil {
		return nil, err
	}
	hostname, _ := os.Hostname()
	id, _ := os.ReadFile("/etc/machine-id")
	uuid, _ := os.ReadFile("/sys/class/dmi/id/product_uuid") // not every machine has one
	a := &agent{plan: plan, dropped: reversePathDrops(), identity: sync.OnceValues(plan.Token.Identity), report: &record{Report: &netprobe.Report{
		Schema: netprobe.Schema, Self: plan.Self, Hosts: plan.Hosts, Measured: measurement(plan.Token), Taken: time.Now().UTC(), MTU: ifi.MTU, Network: network,
		Identity: netprobe.Identity{Hostname: hostname, MachineID: strings.TrimSpace(string(id)), MACs: macs, ProductUUID: strings.ToLower(strings.TrimSpace(string(uuid)))},
	}}}
	return a, nil
}

// measurement identifies a measurement without revealing the token.
func measurement(t netprobe.Token) string {
	sum := sha256.Sum256(append([]byte("run"), t[:]...))
	return hex.EncodeToString(sum[:8])
}

// ownInterface returns the interface with the host's address, and its network.
func ownInterface(h netprobe.Host) (*net.Interface, netip.Prefix, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, netip.Prefix{}, fmt.Errorf("list the interfaces of this host: %w", err)
	}
	for _, ifi := range all {
		addresses, err := ifi.Addrs()
		if err != nil {
			return nil, netip.Prefix{}, fmt.Errorf("read the addresses of %s: %w", ifi.Name, err)
		}
		for _, address := range addresses {
			network, err := netip.ParsePrefix(address.String())
			if err == nil && network.Addr() == h.Address {
				return &ifi, network.Masked(), nil
			}
		}
	}
	return nil, netip.Prefix{}, fmt.Errorf("find the address %s of %s: this host has no such address; correct it in airgap.yaml, or on the host", h.Address, h.Name)
}

// hardwareAddresses are the MAC addresses of physical and virtual network cards, without bridges
// and other software interfaces.
//
// A management controller can be a USB network card, with the same address in every server of its
// model (ASPEED: be:3a:f2:b6:05:9f). USB cards count only if they have the host's address.
func hardwareAddresses(own *net.Interface) ([]string, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the interfaces of this host: %w", err)
	}
	var found []string
	for _, ifi := range all {
		mac := ifi.HardwareAddr.String()
		_, err := os.Stat("/sys/class/net/" + ifi.Name + "/device") // exists for hardware, also for virtual hardware
		counts := ifi.Name == own.Name || !onUSB("/sys/class/net/"+ifi.Name)
		if mac != "" && err == nil && counts && !slices.Contains(found, mac) {
			found = append(found, mac)
		}
	}
	return found, nil
}

// onUSB reports whether the network card with this sysfs directory is a USB device.
func onUSB(card string) bool {
	bus, err := os.Readlink(card + "/device/subsystem")
	return err == nil && path.Base(bus) == "usb"
}

// background runs do until ctx ends; Run waits for it.
func (a *agent) background(ctx context.Context, do func(context.Context)) {
	a.wait.Go(func() { do(ctx) })
}

func (a *agent) listen(ctx context.Context) {
	ifi, _, err := ownInterface(a.plan.Own())
	var s *sniffer
	if err == nil {
		s, err = newSniffer(a.plan, a.report, ifi)
	}
	if err != nil {
		a.report.listenFailed(netprobe.ListenError{Layer: netprobe.AtInterface, Why: reason(err)})
	} else {
		a.arrivals.card, a.arrivals.conn, s.arrivals = ifi.Name, s.conn, &a.arrivals
		s.capture = &a.capture
		a.arrivals.captures.Store(true)
		a.background(ctx, s.run)
		a.listenAnswers(ctx)
		a.background(ctx, a.watchHalfOpen)
	}
	a.listenTCP(ctx)
	a.listenVIP(ctx)
	listenTraces(ctx, a)
	a.listenUDP(ctx)
	a.listenIPIP(ctx)
	a.listenVXLAN(ctx, ifi)
	a.listenRouted(ctx, ifi)
}

// tryAll tests this host's peers, some in parallel. Then it repeats tests without a reply, because
// packets get lost and hosts are busy.
func (a *agent) tryAll(ctx context.Context) {
	peers := a.plan.Peers(a.plan.Self)
	parallel := func(to []int, do func(int)) {
		free := make(chan struct{}, atOnce)
		var all sync.WaitGroup
		for _, peer := range to {
			free <- struct{}{}
			all.Go(func() {
				defer func() { <-free }()
				if ctx.Err() == nil {
					do(peer)
				}
			})
		}
		all.Wait()
	}
	var balancer sync.WaitGroup
	balancer.Go(func() { a.tryVIP(ctx) })
	balancer.Go(func() { a.tryClaims(ctx) })
	defer balancer.Wait()
	parallel(peers, func(to int) { a.try(ctx, to) })
	parallel(peers, func(to int) { a.tryAgain(ctx, to) })
	parallel(a.plan.PathPeers(a.plan.Self), func(to int) { a.tryPaths(ctx, to) })
}

// try runs all tests with one host in parallel.
func (a *agent) try(ctx context.Context, to int) {
	var all sync.WaitGroup
	for _, p := range a.plan.TCP {
		if p.To.Includes(a.plan.Hosts[to]) && p.From.Includes(a.plan.Own()) {
			all.Go(func() { a.tryPort(ctx, to, p.Number) })
		}
	}
	for _, port := range a.plan.UDP {
		all.Go(func() { a.report.tried(a.tryUDP(ctx, to, port)) })
	}
	all.Go(func() { a.sendAll(ctx, to) })
	all.Go(func() { a.tryVXLAN(ctx, to) })
	all.Wait()
}

// tryAgain repeats the tests without a reply, and the one-way tests.
func (a *agent) tryAgain(ctx context.Context, to int) {
	var all sync.WaitGroup
	open := a.report.withoutReply(to)
	for _, attempt := range open {
		switch attempt.Kind {
		case netprobe.TCP:
			all.Go(func() { a.tryPortAgain(ctx, attempt) })
		case netprobe.TLS:
			all.Go(func() { a.report.tried(a.tryTLS(ctx, to, attempt.Port)) })
		case netprobe.UDP:
			all.Go(func() { a.report.tried(a.tryUDP(ctx, to, attempt.Port)) })
		}
	}
	all.Go(func() { a.sendAll(ctx, to) })
	if slices.ContainsFunc(open, func(attempt netprobe.Attempt) bool { return attempt.Kind.Inside() }) {
		all.Go(func() { a.tryVXLAN(ctx, to) })
	}
	all.Wait()
}

// sendAll sends the one-way tests. It tests packet sizes on the ports of all tunnels, because only
// one of them may be open.
func (a *agent) sendAll(ctx context.Context, to int) {
	a.sendIPIP(ctx, to)
	a.sendRouted(ctx, to)
	var all sync.WaitGroup
	for _, port := range slices.Concat(a.plan.VXLAN, a.plan.UDP) {
		all.Go(func() { a.sendSizes(ctx, to, port) })
	}
	all.Wait()
}

// tryVXLAN tests small packets on each port. It tests one stream on the first port with replies, because
// checksums behave the same on all ports. If the stream stalls, it tests the next port: a device can drop the
// large packets of one port.
func (a *agent) tryVXLAN(ctx context.Context, to int) {
	passed := false
	for _, o := range a.vxlan {
		if o.soft {
			continue
		}
		var ping netprobe.Attempt
		var both sync.WaitGroup // in parallel, because each waits for its timeout
		both.Go(func() { ping = o.attempt(to, netprobe.VXLANPing, o.ping(to)) })
		both.Go(func() { a.report.tried(o.attempt(to, netprobe.VXLANUDP, o.datagram(ctx, to))) })
		both.Wait()
		a.report.tried(ping)
		if ping.Result == netprobe.Answered && !passed {
			passed = o.tryStream(ctx, to)
		}
	}
}
