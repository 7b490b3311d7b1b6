// Package netprobe measures what the network between the hosts of a cluster
// lets through, before anything is installed.
//
// A Plan flows in, the same for every host. Each host runs an agent for a
// bounded time, which listens where the cluster will listen, watches what
// arrives at its interface before a firewall of its own could drop it, and
// tries every other host: TCP and UDP ports, protocol 4, packets of each
// size, and a real VXLAN in a network namespace that goes with the process.
// A Report flows out of each: what it tried and what it saw. Only all reports
// together tell what happened between two hosts, and that is what Judge
// makes of them; agents decide nothing. Choose takes the pod network's
// encapsulation, port and MTU from what Judge found.
//
// Agents talk to nobody but the hosts of the plan, and believe only messages
// that carry a code of the plan's one-time token. Nothing on a host is
// changed: no address, route, rule or interface that others could see.
package netprobe

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Host is one of the hosts between which is measured.
type Host struct {
	Name         string     `json:"name"`
	Address      netip.Addr `json:"address"` // IPv4
	ControlPlane bool       `json:"controlPlane,omitempty"`
}

// Port is a TCP port that hosts have to reach.
type Port struct {
	Number int    `json:"number"`
	For    string `json:"for"` // "etcd peers"
	// To and From are who listens and who connects.
	To   Who `json:"to"`
	From Who `json:"from"`
}

// Who are hosts by their role.
type Who string

// Every host, or those of the control plane.
const (
	All           Who = "all"
	ControlPlanes Who = "control-plane"
)

func (w Who) has(h Host) bool { return w == All || h.ControlPlane }

// Plan is what every host is told. Only Self differs.
type Plan struct {
	Token Token  `json:"token"`
	Hosts []Host `json:"hosts"`
	Self  int    `json:"self"` // which of them this host is
	TCP   []Port `json:"tcp"`
	UDP   []int  `json:"udp"`   // ports that a tunnel other than VXLAN would take
	VXLAN []int  `json:"vxlan"` // UDP ports on which a real VXLAN is tried
	// Pods is the network of the pods' addresses, for packets that no tunnel carries; the
	// zero value leaves those out.
	Pods netip.Prefix `json:"pods,omitzero"`
	// VIP is the load balancer's HOST:PORT before the control plane; "" for none.
	VIP string `json:"vip,omitempty"`
	// Patience is how long the balancer may take to notice, by its health checks,
	// that somebody listens behind it.
	Patience Seconds `json:"patience,omitempty"`
	// Idle is how long nothing is said on a connection through the balancer, to see
	// whether it is kept; 0 leaves that out.
	Idle  Seconds `json:"idle,omitempty"`
	Limit Seconds `json:"limit"` // after which an agent ends, whatever happens
	Pairs int     `json:"pairs"` // ordered pairs above which hosts try only some of the others
}

// Seconds is a time in whole seconds.
type Seconds int

// Duration is the time as Go has it.
func (s Seconds) Duration() time.Duration { return time.Duration(s) * time.Second }

// Validate refuses a plan that no host could follow.
func (p *Plan) Validate() error {
	switch {
	case len(p.Hosts) < 2:
		return fmt.Errorf("read the probe's plan: %d hosts, and it takes two", len(p.Hosts))
	case len(p.Hosts) > maxHosts:
		return fmt.Errorf("read the probe's plan: %d hosts, and at most %d are told apart", len(p.Hosts), maxHosts)
	case p.Self < 0 || p.Self >= len(p.Hosts):
		return fmt.Errorf("read the probe's plan: host %d of %d", p.Self, len(p.Hosts))
	case p.Token == Token{}:
		return fmt.Errorf("read the probe's plan: no token")
	case p.Limit < 1 || p.Limit > 3600:
		return fmt.Errorf("read the probe's plan: a limit of %d s, and it has to be 1 to 3600", p.Limit)
	}
	for i, h := range p.Hosts {
		if !h.Address.Is4() {
			return fmt.Errorf("read the probe's plan: %s has the address %s, and only IPv4 is measured", h.Name, h.Address)
		}
		if slices.ContainsFunc(p.Hosts[:i], func(other Host) bool { return other.Address == h.Address }) {
			return fmt.Errorf("read the probe's plan: the address %s is there twice", h.Address)
		}
	}
	return nil
}

// DefaultPairs are all of fifty hosts. Between more, each host tries some of the others,
// and a Matrix says how many.
const DefaultPairs = 2500

// maxHosts is what fits into the addresses of the VXLAN that is tried.
const maxHosts = 60000

// self is this host.
func (p *Plan) self() Host { return p.Hosts[p.Self] }

// byAddress tells a host by where a packet came from.
func (p *Plan) byAddress(a netip.Addr) (int, bool) {
	i := slices.IndexFunc(p.Hosts, func(h Host) bool { return h.Address == a })
	return i, i >= 0
}

// Peers are the hosts that host i tries: all others, unless there are more
// ordered pairs than the plan's. Then each host tries as many, spread evenly over
// the list; is tried by as many; and whom it tries tries it too.
func (p *Plan) Peers(i int) []int {
	n := len(p.Hosts)
	each := n - 1
	if p.Pairs > 0 && n*(n-1) > p.Pairs {
		each = min(max(p.Pairs/n, minPeers), n-1)
	}
	var peers []int
	for _, offset := range offsets(n, each) {
		peers = append(peers, (i+offset)%n)
	}
	return peers
}

// minPeers is the fewest that say something about a network.
const minPeers = 4

// offsets are about k of 1 to n-1, with n-o for each o.
func offsets(n, k int) []int {
	if k >= n-1 {
		k = n - 1
	}
	half := (k + 1) / 2
	var chosen []int
	for j := range half {
		o := 1 + j*(n/2)/half
		for _, o := range []int{o, n - o} {
			if o > 0 && o < n && !slices.Contains(chosen, o) {
				chosen = append(chosen, o)
			}
		}
	}
	for o := 1; len(chosen) < k && o < n; o++ { // n/2 steps may meet themselves
		for _, o := range []int{o, n - o} {
			if !slices.Contains(chosen, o) {
				chosen = append(chosen, o)
			}
		}
	}
	slices.Sort(chosen)
	return chosen
}
