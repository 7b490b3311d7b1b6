package netprobe

import (
	"context"
	"crypto/sha256"
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
)

// atOnce is how many other hosts are tried at a time.
const atOnce = 8

// agent is this host's part of a measurement.
type agent struct {
	plan   *Plan
	report *Report
	wait   sync.WaitGroup
	vxlan  []*overlay
	sender *sender // nil when no packets with pods' addresses are tried
	ownVIP bool    // the balancer's address is this host's, and it answers there
}

// Run listens on this host, tries the others once begin is closed, and keeps
// listening until end is closed, so that they can try this one. ready is called
// when it listens, measured when it has tried all. What cannot be done on this host
// stands in the report; an error is a plan that nobody could follow.
func Run(ctx context.Context, plan *Plan, ready func(), begin <-chan struct{}, measured func(), end <-chan struct{}) (*Report, error) {
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, plan.Limit.Duration())
	defer cancel()
	a, err := newAgent(plan)
	if err != nil {
		return nil, err
	}
	listening, stop := context.WithCancel(ctx)
	a.listen(listening)
	ready()
	err = await(ctx, begin)
	if err == nil {
		a.tryAll(ctx)
		measured()
		err = await(ctx, end)
	}
	stop()
	a.wait.Wait()
	a.report.sorted()
	return a.report, err
}

func await(ctx context.Context, signal <-chan struct{}) error {
	select {
	case <-signal:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("probe the network: %w", ctx.Err())
	}
}

// newAgent reads what the report says of this host.
func newAgent(plan *Plan) (*agent, error) {
	ifi, network, err := ownInterface(plan.self())
	if err != nil {
		return nil, err
	}
	macs, err := hardwareAddresses(ifi)
	if err != nil {
		return nil, err
	}
	hostname, _ := os.Hostname()
	id, _ := os.ReadFile("/etc/machine-id")
	a := &agent{plan: plan, report: &Report{
		Schema: Schema, Self: plan.Self, Hosts: plan.Hosts, Measured: plan.Token.run(), Taken: time.Now().UTC(), MTU: ifi.MTU, Network: network,
		Identity: Identity{hostname, strings.TrimSpace(string(id)), macs},
	}}
	return a, nil
}

// run tells measurements apart, and does not tell the token.
func (t Token) run() string {
	sum := sha256.Sum256(append([]byte("run"), t[:]...))
	return hex.EncodeToString(sum[:8])
}

// ownInterface is the one with the host's address, and the network that it is in.
func ownInterface(h Host) (*net.Interface, netip.Prefix, error) {
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
	return nil, netip.Prefix{}, fmt.Errorf("find the address %s of %s: this host has no such address; correct it in airgap.yaml, or the host's", h.Address, h.Name)
}

// hardwareAddresses are those that the machine came with, or that somebody gave it; not
// those of bridges and the like, which the kernel makes up.
//
// A server's management controller is a network card by USB, and gives that end of it the
// same address in every server of its kind (ASPEED's: be:3a:f2:b6:05:9f). Such cards count
// where the host has its own address on them.
func hardwareAddresses(own *net.Interface) ([]string, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the interfaces of this host: %w", err)
	}
	var found []string
	for _, ifi := range all {
		mac := ifi.HardwareAddr.String()
		_, err := os.Stat("/sys/class/net/" + ifi.Name + "/device") // there is hardware, or a hypervisor's
		ours := ifi.Name == own.Name || !onUSB("/sys/class/net/"+ifi.Name)
		if mac != "" && err == nil && ours && !slices.Contains(found, mac) {
			found = append(found, mac)
		}
	}
	return found, nil
}

// onUSB tells a network card by USB from the others, by its directory in sysfs.
func onUSB(card string) bool {
	bus, err := os.Readlink(card + "/device/subsystem")
	return err == nil && path.Base(bus) == "usb"
}

// background runs something until ctx ends; Run waits for it.
func (a *agent) background(ctx context.Context, do func(context.Context)) {
	a.wait.Go(func() { do(ctx) })
}

func (a *agent) listen(ctx context.Context) {
	ifi, _, err := ownInterface(a.plan.self())
	var s *sniffer
	if err == nil {
		s, err = newSniffer(a.plan, a.report, ifi)
	}
	if err != nil {
		a.report.deaf(Deaf{Layer: AtInterface, Why: reason(err)})
	} else {
		a.background(ctx, s.run)
	}
	a.listenTCP(ctx)
	a.listenVIP(ctx)
	a.listenUDP(ctx)
	a.listenIPIP(ctx)
	a.listenVXLAN(ctx, ifi)
	a.listenRouted(ctx, ifi)
}

// tryAll tries this host's peers, some at a time, and then once more what met silence: a
// packet may be lost, and hosts be busy.
func (a *agent) tryAll(ctx context.Context) {
	peers := a.plan.Peers(a.plan.Self)
	side := func(to []int, do func(int)) {
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
	defer balancer.Wait()
	side(peers, func(to int) { a.try(ctx, to) })
	side(peers, func(to int) { a.tryAgain(ctx, to) })
}

// try tries all there is to try with one host, side by side.
func (a *agent) try(ctx context.Context, to int) {
	var all sync.WaitGroup
	for _, p := range a.plan.TCP {
		if p.To.has(a.plan.Hosts[to]) && p.From.has(a.plan.self()) {
			all.Go(func() { a.report.tried(a.tryTCP(ctx, to, p.Number)) })
		}
	}
	for _, port := range a.plan.UDP {
		all.Go(func() { a.report.tried(a.tryUDP(ctx, to, port)) })
	}
	all.Go(func() { a.sendAll(ctx, to) })
	all.Go(func() { a.tryVXLAN(ctx, to) })
	all.Wait()
}

// tryAgain tries what met silence, and sends once more what nothing answers.
func (a *agent) tryAgain(ctx context.Context, to int) {
	var all sync.WaitGroup
	silent := a.report.silent(to)
	for _, attempt := range silent {
		switch attempt.Kind {
		case TCP:
			all.Go(func() { a.report.tried(a.tryTCP(ctx, to, attempt.Port)) })
		case UDP:
			all.Go(func() { a.report.tried(a.tryUDP(ctx, to, attempt.Port)) })
		}
	}
	all.Go(func() { a.sendAll(ctx, to) })
	if slices.ContainsFunc(silent, func(attempt Attempt) bool { return attempt.Kind.inside() }) {
		all.Go(func() { a.tryVXLAN(ctx, to) })
	}
	all.Wait()
}

// sendAll sends what nothing answers. Of the ports those of two tunnels are enough, for
// one may be closed.
func (a *agent) sendAll(ctx context.Context, to int) {
	a.sendIPIP(ctx, to)
	a.sendRouted(ctx, to)
	for _, ports := range [][]int{a.plan.VXLAN, a.plan.UDP} {
		if len(ports) > 0 {
			a.sendSizes(ctx, to, ports[0])
		}
	}
}

// tryVXLAN tries small packets on each port, and one stream, on the first port on which
// these come back: what large packets and checksums meet is the same on all ports.
func (a *agent) tryVXLAN(ctx context.Context, to int) {
	streamed := false
	for _, o := range a.vxlan {
		if o.soft {
			continue
		}
		var ping Attempt
		var both sync.WaitGroup // where nothing answers, all that takes time is waiting
		both.Go(func() { ping = o.attempt(to, VXLANPing, o.ping(to)) })
		both.Go(func() { a.report.tried(o.attempt(to, VXLANUDP, o.datagram(ctx, to))) })
		both.Wait()
		a.report.tried(ping)
		if ping.Result == Answered && !streamed {
			streamed = true
			a.tryStream(ctx, to, o)
		}
	}
}

// tryStream tries the processor's checksums only where the card's have failed, and blames
// the card's only when they fail once more.
func (a *agent) tryStream(ctx context.Context, to int, hard *overlay) {
	stream := hard.attempt(to, VXLANTCP, hard.stream(ctx, to))
	a.report.tried(stream)
	soft := slices.IndexFunc(a.vxlan, func(o *overlay) bool { return o.port == hard.port && o.soft })
	if stream.Result == Answered || soft < 0 {
		return
	}
	second := hard.attempt(to, Soft, a.vxlan[soft].stream(ctx, to))
	a.report.tried(second)
	if second.Result == Answered {
		a.report.tried(hard.attempt(to, VXLANTCP, hard.stream(ctx, to)))
	}
}
