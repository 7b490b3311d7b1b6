package dataplane

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
)

// perRound is how many other nodes are tried in a round, and how many of those
// that did not answer before are tried again.
const perRound = 25

// atOnce is how many tries of a round are under way at a time.
const atOnce = 8

// round looks who is there and gives all that is known not to answer.
func (p *prober) round(ctx context.Context) []Failure {
	failures := append(p.look(ctx), p.try(ctx)...)
	slices.SortFunc(failures, func(a, b Failure) int { return cmp.Compare(a.Target, b.Target) })
	return failures
}

// try tries everything whose turn it is.
func (p *prober) try(ctx context.Context) (failures []Failure) {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, other := range p.turn() {
		group.Go(func() error {
			defer p.goesOn()
			found := p.tryPeer(ctx, other)
			mu.Lock()
			defer mu.Unlock()
			p.tried[other.node] = found
			return nil
		})
	}
	group.Go(func() error {
		defer p.goesOn()
		found := p.tryService(ctx)
		mu.Lock()
		defer mu.Unlock()
		failures = append(failures, found...)
		return nil
	})
	_ = group.Wait() // there are no errors but failures
	for _, found := range p.tried {
		failures = append(failures, found...)
	}
	return failures
}

// look asks who the others are. Where nobody can be asked, they are whom they
// were.
func (p *prober) look(ctx context.Context) []Failure {
	all, err := p.options.API.peers(ctx)
	if err == nil {
		p.service, err = p.options.API.ownService(ctx, p.service)
	}
	if err != nil {
		return []Failure{{"API server by its Service", said(err)}}
	}
	p.peers = slices.DeleteFunc(all, func(o peer) bool { return o.node == p.options.Self.Node })
	p.nodes.Store(int64(len(p.peers)))
	maps.DeleteFunc(p.tried, func(node string, _ []Failure) bool {
		return !slices.ContainsFunc(p.peers, func(o peer) bool { return o.node == node })
	})
	return nil
}

// turn are the peers of this round: the next ones in the ring, and those that
// did not answer before.
func (p *prober) turn() []peer {
	var now []peer
	for range min(perRound, len(p.peers)) {
		p.next = (p.next + 1) % len(p.peers)
		now = append(now, p.peers[p.next])
	}
	again := perRound
	for _, other := range p.peers {
		if again > 0 && len(p.tried[other.node]) > 0 && !slices.Contains(now, other) {
			now, again = append(now, other), again-1
		}
	}
	return now
}

// tryPeer sends a little; if that comes back, more than a packet holds, and
// something by the NodePort of that node.
func (p *prober) tryPeer(ctx context.Context, other peer) []Failure {
	var host string
	talk := func(size int) func(context.Context) error {
		return func(ctx context.Context) error {
			at, err := p.call(ctx, other.address.String(), size)
			if err == nil && at.node != other.node {
				err = fmt.Errorf("the pod on %s answered", at.node)
			}
			host = at.host
			return err
		}
	}
	if failed := p.persist(ctx, "pod on "+other.node, talk(small)); failed != nil {
		return failed
	}
	failures := p.tryNodePort(ctx, other.node, host)
	return append(failures, p.persist(ctx, "pod on "+other.node+", 64 KiB", talk(large))...)
}

// tryService tries what is no single pod: the Service by its address and by its
// name, the name of the API server, this node's NodePort.
func (p *prober) tryService(ctx context.Context) []Failure {
	if !p.service.address.IsValid() {
		return nil // look says why
	}
	failures := p.persist(ctx, "Service by its address "+p.service.address.Addr().String(), p.calling(p.service.address.String()))
	noName := p.persist(ctx, "name "+apiName, func(ctx context.Context) error { return p.lookup(ctx, apiName) })
	failures = append(failures, noName...)
	if noName == nil {
		byName := net.JoinHostPort(Name+"."+Namespace+".svc", strconv.Itoa(int(p.service.address.Port())))
		failures = append(failures, p.persist(ctx, "Service by its name "+Name+"."+Namespace+".svc", p.calling(byName))...)
	}
	return append(failures, p.tryNodePort(ctx, p.options.Self.Node, p.options.Self.Host)...)
}

// apiName is a name that each cluster has, whatever its domain is called.
const apiName = "kubernetes.default.svc"

func (p *prober) tryNodePort(ctx context.Context, node, host string) []Failure {
	port := strconv.Itoa(int(p.service.nodePort))
	return p.persist(ctx, "NodePort "+port+" of "+node, p.calling(net.JoinHostPort(host, port)))
}

func (p *prober) calling(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := p.call(ctx, address, small)
		return err
	}
}
