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

// perRound is the maximum number of nodes that a round tries in turn, and of failed nodes that it
// tries again.
const perRound = 25

// maxParallel is the maximum number of tries at the same time.
const maxParallel = 8

// round updates the peers, tries the targets and returns all known failures.
func (p *prober) round(ctx context.Context) []Failure {
	failures := append(p.look(ctx), p.try(ctx)...)
	slices.SortFunc(failures, byRank)
	return failures
}

func byRank(a, b Failure) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Target, b.Target))
}

// try tries the peers of this round and the Service, and returns all known failures.
func (p *prober) try(ctx context.Context) (failures []Failure) {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for _, other := range p.turn() {
		group.Go(func() error {
			defer p.progress()
			found := p.tryPeer(ctx, other)
			mu.Lock()
			defer mu.Unlock()
			p.tried[other.node] = found
			return nil
		})
	}
	group.Go(func() error {
		defer p.progress()
		found := p.tryService(ctx)
		mu.Lock()
		defer mu.Unlock()
		failures = append(failures, found...)
		return nil
	})
	_ = group.Wait() // faults are failures, not errors
	p.paths.round(ctx, p.options.Self.Node, p.peers, p.tried, p.progress)
	for node, found := range p.tried {
		failures = append(failures, p.paths.explained(node, found)...)
	}
	return append(failures, p.paths.failures()...)
}

// look reads the peers and the Service. If the API server does not answer, the previous ones stay.
func (p *prober) look(ctx context.Context) []Failure {
	all, err := p.options.API.peers(ctx)
	if err == nil {
		p.service, err = p.options.API.ownService(ctx, p.service)
	}
	if err != nil {
		return []Failure{{"API server by its Service", plainText(err)}}
	}
	p.peers = slices.DeleteFunc(all, func(o peer) bool { return o.node == p.options.Self.Node })
	p.nodes.Store(int64(len(p.peers)))
	maps.DeleteFunc(p.tried, func(node string, _ []Failure) bool {
		return !slices.ContainsFunc(p.peers, func(o peer) bool { return o.node == node })
	})
	return nil
}

// turn returns the peers of this round: the next ones in the ring, and those that failed before.
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

// tryPeer sends a small request. If it succeeds, tryPeer sends a request larger than a packet, and
// one to the NodePort of that node.
func (p *prober) tryPeer(ctx context.Context, other peer) []Failure {
	var host string
	echo := func(size int) func(context.Context) error {
		return func(ctx context.Context) error {
			at, err := p.call(ctx, other.address.String(), size)
			if err == nil && at.node != other.node {
				err = fmt.Errorf("the pod on %s answered", at.node)
			}
			host = at.host
			return err
		}
	}
	if failed := p.persist(ctx, "pod on "+other.node, echo(small)); failed != nil {
		return failed
	}
	failures := p.tryNodePort(ctx, other.node, host)
	return append(failures, p.persist(ctx, "pod on "+other.node+", 64 KiB", echo(large))...)
}

// tryService tries the Service by its address and by its name, the DNS name of the API server, and
// this node's NodePort and hostPort.
func (p *prober) tryService(ctx context.Context) []Failure {
	if !p.service.address.IsValid() {
		return nil // look returned the reason
	}
	parts := []func() []Failure{
		func() []Failure {
			return p.persist(ctx, "Service by its address "+p.service.address.Addr().String(), p.calling(p.service.address.String()))
		},
		func() []Failure { return p.tryNames(ctx) },
		func() []Failure { return p.tryNodePort(ctx, p.options.Self.Node, p.options.Self.Host) },
		func() []Failure { return p.tryHostPort(ctx) },
	}
	found := make([][]Failure, len(parts))
	var group sync.WaitGroup // one after the other, faults would delay the result of the round by a minute
	for i, part := range parts {
		group.Go(func() { found[i] = part() })
	}
	group.Wait()
	return slices.Concat(found...)
}

func (p *prober) tryNames(ctx context.Context) []Failure {
	failures := p.persist(ctx, "name "+apiName, func(ctx context.Context) error { return p.lookup(ctx, apiName) })
	if failures != nil {
		return failures
	}
	byName := net.JoinHostPort(Name+"."+Namespace+".svc", strconv.Itoa(int(p.service.address.Port())))
	return p.persist(ctx, "Service by its name "+Name+"."+Namespace+".svc", p.calling(byName))
}

// apiName is a DNS name that exists in each cluster, with any cluster domain.
const apiName = "kubernetes.default.svc"

func (p *prober) tryNodePort(ctx context.Context, node, host string) []Failure {
	port := strconv.Itoa(int(p.service.nodePort))
	return p.persist(ctx, "NodePort "+port+" of "+node, p.calling(net.JoinHostPort(host, port)))
}

// tryHostPort calls this pod through the hostPort of its own node. Other nodes do not: a firewall
// between the hosts may block a port that only this test uses, and the rules are those of the node.
func (p *prober) tryHostPort(ctx context.Context) []Failure {
	self := p.options.Self
	if self.HostPort == 0 {
		return nil
	}
	port := strconv.Itoa(int(self.HostPort))
	return p.persist(ctx, "hostPort "+port+" of "+self.Node, func(ctx context.Context) error {
		at, err := p.call(ctx, net.JoinHostPort(self.Host, port), small)
		if err == nil && at.node != self.Node {
			err = fmt.Errorf("the pod on %s answered", at.node)
		}
		return err
	})
}

func (p *prober) calling(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := p.call(ctx, address, small)
		return err
	}
}
