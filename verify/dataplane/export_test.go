package dataplane

import (
	"context"
	"net/netip"
	"time"
)

// The tests in dataplane_test use the package deploy, which imports this package.

type Prober = prober

func NewProber(o Options, peers ...string) *Prober {
	p := &prober{options: o}
	for _, node := range peers {
		p.peers = append(p.peers, peer{node: node})
	}
	return p
}

// Peers returns the pods' nodes and addresses, sorted: "w1 10.244.1.7:8080".
func (a *API) Peers(ctx context.Context) ([]string, error) {
	all, err := a.peers(ctx)
	var list []string
	for _, p := range all {
		list = append(list, p.node+" "+p.address.String())
	}
	return list, err
}

func (a *API) OwnService(ctx context.Context) (netip.AddrPort, uint16, error) {
	r, err := a.ownService(ctx, reached{})
	return r.address, r.nodePort, err
}

func (p *Prober) Look(ctx context.Context) []Failure           { return p.look(ctx) }
func (p *Prober) Tell(ctx context.Context, failures []Failure) { p.publish(ctx, failures) }
func (p *Prober) Ready() error                                 { return p.ready() }
func (p *Prober) Since() time.Time                             { return p.since }
func (p *Prober) Others() int                                  { return len(p.peers) }
func (p *Prober) ConfirmedBefore(ago time.Duration)            { p.confirmed.last = time.Now().Add(-ago) }
func Stale() time.Duration                                     { return stale }
