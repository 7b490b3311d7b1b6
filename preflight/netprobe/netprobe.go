// Package netprobe measures which packets the network between the hosts of a
// cluster carries, before the installation.
//
// All hosts get the same Plan. Each host runs an agent for a limited time. It
// listens on the ports of the future cluster, captures packets at its interface
// before its own firewall, and tests every other host: TCP and UDP ports,
// protocol 4, packets of several sizes, and a real VXLAN in a network namespace
// that ends with the process. Each agent returns a Report with its tests and
// observations. Agents decide nothing: Judge combines all reports, because both
// sides are needed for a result. Choose selects the encapsulation, port and MTU
// of the pod network from the result of Judge.
//
// Package agent is the part that runs on the hosts.
package netprobe

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Host is a host of the measurement.
type Host struct {
	Name         string     `json:"name"`
	Address      netip.Addr `json:"address"` // IPv4
	ControlPlane bool       `json:"controlPlane,omitempty"`
	Rack         string     `json:"rack,omitempty"` // "": by its subnet
}

// Port is a TCP port that hosts must reach.
type Port struct {
	Number int    `json:"number"`
	For    string `json:"for"` // "etcd peers"
	// To are the hosts that listen, and From the hosts that connect.
	To   HostSet `json:"to"`
	From HostSet `json:"from"`
}

// HostSet selects hosts by their role.
type HostSet string

// All hosts, or only control-plane hosts.
const (
	All           HostSet = "all"
	ControlPlanes HostSet = "control-plane"
)

// Includes reports whether the host is in the set.
func (s HostSet) Includes(h Host) bool { return s == All || h.ControlPlane }

// Plan is the input of every agent. Only Self differs between hosts.
type Plan struct {
	Token Token  `json:"token"`
	Hosts []Host `json:"hosts"`
	Self  int    `json:"self"` // index of this host in Hosts
	TCP   []Port `json:"tcp"`
	UDP   []int  `json:"udp"`   // ports of other tunnels
	VXLAN []int  `json:"vxlan"` // UDP ports for tests with a real VXLAN
	// Pods is the pod subnet, for tests of packets without a tunnel; the zero value skips them.
	Pods netip.Prefix `json:"pods,omitzero"`
	// VIP is HOST:PORT of the load balancer of the control plane; "" for none.
	VIP string `json:"vip,omitempty"`
	// Patience is the time for the health checks of the load balancer to find the listening hosts.
	Patience Seconds `json:"patience,omitempty"`
	// Idle is how long a test connection through the load balancer stays idle; 0 skips the test.
	Idle  Seconds `json:"idle,omitempty"`
	Limit Seconds `json:"limit"` // after which an agent exits in any case
	Pairs int     `json:"pairs"` // with more ordered pairs, hosts test only some of the others
}

// Seconds is a duration in whole seconds.
type Seconds int

// Duration converts s to a time.Duration.
func (s Seconds) Duration() time.Duration { return time.Duration(s) * time.Second }

// Validate returns an error for an invalid plan.
func (p *Plan) Validate() error {
	switch {
	case len(p.Hosts) < 2:
		return fmt.Errorf("read the plan of the measurement: %d hosts, expected two or more", len(p.Hosts))
	case len(p.Hosts) > maxHosts:
		return fmt.Errorf("read the plan of the measurement: %d hosts, at most %d are possible", len(p.Hosts), maxHosts)
	case p.Self < 0 || p.Self >= len(p.Hosts):
		return fmt.Errorf("read the plan of the measurement: no host %d among %d hosts", p.Self, len(p.Hosts))
	case p.Token == Token{}:
		return fmt.Errorf("read the plan of the measurement: the token is missing")
	case p.Limit < 1 || p.Limit > 3600:
		return fmt.Errorf("read the plan of the measurement: the limit is %d s, expected 1 to 3600", p.Limit)
	}
	for i, h := range p.Hosts {
		if !h.Address.Is4() {
			return fmt.Errorf("read the plan of the measurement: %s has the address %s, only IPv4 is supported", h.Name, h.Address)
		}
		if slices.ContainsFunc(p.Hosts[:i], func(other Host) bool { return other.Address == h.Address }) {
			return fmt.Errorf("read the plan of the measurement: two hosts have the address %s", h.Address)
		}
	}
	return nil
}

// DefaultPairs allows all pairs of fifty hosts. With more hosts, each host tests some of the others,
// and Matrix.Tried has the number.
const DefaultPairs = 2500

// maxHosts is the number of addresses in the tested VXLAN.
const maxHosts = 60000

// Own is this host.
func (p *Plan) Own() Host { return p.Hosts[p.Self] }

// ByAddress returns the host with the source address of a packet.
func (p *Plan) ByAddress(a netip.Addr) (int, bool) {
	i := slices.IndexFunc(p.Hosts, func(h Host) bool { return h.Address == a })
	return i, i >= 0
}

// Peers are the hosts that host i tests: all others, unless there are more ordered pairs than
// Plan.Pairs. Then each host tests the same number of hosts, spread over the racks, and these hosts
// test it, too. Control-plane hosts always test each other.
func (p *Plan) Peers(i int) []int {
	if m := p.pairing(); m != nil {
		return m.others[i]
	}
	var peers []int
	for offset := 1; offset < len(p.Hosts); offset++ {
		peers = append(peers, (i+offset)%len(p.Hosts))
	}
	return peers
}

// PathPeers are the peers of host i to which it also measures the path: its loss, rate and latency. These are all peers,
// unless each host tests only some of the others.
func (p *Plan) PathPeers(i int) []int {
	if m := p.pairing(); m != nil {
		return m.paths(mostPaths)[i]
	}
	return p.Peers(i)
}

// pairing returns nil if every host tests all others.
func (p *Plan) pairing() *pairing {
	n := len(p.Hosts)
	if p.Pairs == 0 || n*(n-1) <= p.Pairs {
		return nil
	}
	return newPairing(p.Hosts, min(max(p.Pairs/n, minPeers), n-1))
}

// minPeers is the least number of peers for a useful result.
const minPeers = 4

// offsets returns about k numbers from 1 to n-1, with n-o for each o.
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
	for o := 1; len(chosen) < k && o < n; o++ { // n-o can equal o
		for _, o := range []int{o, n - o} {
			if !slices.Contains(chosen, o) {
				chosen = append(chosen, o)
			}
		}
	}
	slices.Sort(chosen)
	return chosen
}
