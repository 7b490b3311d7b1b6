// Package client tests the way from a machine of the users to a cluster: the API, an ingress and
// NodePorts. It needs no root, no bundle and no credentials of the cluster, and sends packets only to
// the given addresses.
package client

import (
	"context"
	"net"
	"net/netip"
	"time"

	"airgap.dev/airgap/internal/peercert"
)

// Kind is the kind of a server.
type Kind string

// Kinds of servers.
const (
	API      Kind = "API"
	Ingress  Kind = "ingress"
	NodePort Kind = "NodePort"
)

// Target is a server of the cluster.
type Target struct {
	Kind    Kind   `json:"kind"`
	Address string `json:"address"` // HOST:PORT
}

// Options are the options of Run.
type Options struct {
	Targets []Target
	// Idle is how long a connection to the API stays without a packet; 0 skips the test.
	Idle time.Duration
	// Waited is called for each second of the test with an idle connection.
	Waited func()
}

// State is the result of a test.
type State string

// States.
const (
	OK     State = "ok"
	Note   State = "note" // not tested, or no fault of the network
	Warn   State = "warn"
	Failed State = "failed"
)

// Test is the result of one test.
type Test struct {
	Test  string `json:"test"` // "connection"
	State State  `json:"state"`
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"`
}

// Tested has the tests of a server.
type Tested struct {
	Target

	Tests []Test `json:"tests"`
}

// Result has the tests of all servers.
type Result struct {
	Targets []Tested `json:"targets"`
}

// Passed reports whether no test failed.
func (r *Result) Passed() bool {
	for _, t := range r.Targets {
		for _, test := range t.Tests {
			if test.State == Failed {
				return false
			}
		}
	}
	return true
}

const (
	patience    = 5 * time.Second
	connections = 8 // paths can have several members, and one of them can fail
)

// Run tests one server at a time. The error is about the end of the context.
func Run(ctx context.Context, o Options) (*Result, error) {
	r := &Result{}
	for _, target := range o.Targets {
		p := &probe{Tested: Tested{Target: target}, waited: o.Waited}
		if target.Kind == API {
			p.idle = o.Idle
		}
		p.run(ctx)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.Targets = append(r.Targets, p.Tested)
	}
	return r, nil
}

// probe tests one server.
type probe struct {
	Tested

	host     string
	pins     *peercert.Pins
	dialed   string // the first address of the host, with the port
	idle     time.Duration
	waited   func()
	withHTTP bool // it answers requests without TLS
}

func (p *probe) add(test string, state State, found, fix string) {
	p.Tests = append(p.Tests, Test{test, state, found, fix})
}

// run tests as far as the server answers.
func (p *probe) run(ctx context.Context) {
	if !p.resolve(ctx) || !p.connect(ctx) {
		return
	}
	encrypted := p.handshake(ctx)
	if !encrypted && (p.Kind == API || !p.withHTTP) {
		return
	}
	if p.answer(ctx, encrypted) {
		p.data(ctx, encrypted)
	}
	if p.idle > 0 && encrypted {
		p.keepIdle(ctx)
	}
}

// resolve tests the name of the server. The cluster has no IPv6, and clients prefer it (RFC 6724).
func (p *probe) resolve(ctx context.Context) bool {
	host, port, err := net.SplitHostPort(p.Address)
	if err != nil {
		p.add("name", Failed, err.Error(), "give HOST:PORT")
		return false
	}
	p.host, p.pins = host, peercert.New(host)
	asked, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(asked, "ip", host)
	var v4, v6 []netip.Addr
	for _, a := range all {
		if a = a.Unmap(); a.Is4() {
			v4 = append(v4, a)
		} else {
			v6 = append(v6, a)
		}
	}
	switch {
	case len(v4) == 0 && err != nil:
		p.add("name", Failed, reason(err), "ask the DNS team for an A record of "+host)
		return false
	case len(v4) == 0:
		p.add("name", Failed, "only IPv6: "+list(v6), "ask the DNS team for an A record of "+host+": the cluster has no IPv6")
		return false
	case len(v6) > 0:
		p.add("name", Warn, list(v4)+", and IPv6 "+list(v6), "ask the DNS team to remove the AAAA record of "+host+": the cluster has no IPv6")
	default:
		p.add("name", OK, list(v4), "")
	}
	p.dialed = net.JoinHostPort(v4[0].String(), port)
	return true
}
