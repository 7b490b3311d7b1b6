package netprobe

import (
	"maps"
	"net/netip"
)

// VIP is the result of a host's test of the load balancer.
type VIP struct {
	// Hits counts the answers of each control-plane host, by its number.
	Hits map[int]int `json:"hits,omitempty"`
	// Small counts the answers to handshakes with a small first message, which are used after a
	// failure of today's size.
	Small map[int]int `json:"small,omitempty"`
	// Failures counts the connections without an answer of a host, by result. Before the first
	// answer only the last failure counts.
	Failures map[Result]int `json:"failures,omitempty"`
	Said     string         `json:"said,omitempty"` // details of the last failure
	Idle     *Idle          `json:"idle,omitempty"` // nil without a test
	// Own is true if this control-plane host has the address, and answered there.
	Own bool `json:"own,omitempty"`
	// Transfers are the exchanges of data with each control-plane host.
	Transfers []Transfer `json:"transfers,omitempty"`
	// Local is the address on an interface of this host; nil if it has none.
	Local *LocalVIP `json:"local,omitempty"`
	// MAC is of the interface with the host's address, and Owners are the MAC addresses that answer
	// ARP requests for the load balancer's address there.
	MAC    string   `json:"mac,omitempty"`
	Owners []string `json:"owners,omitempty"`
	// IPv6 are the addresses of the endpoint's name in AAAA records, according to this host's resolver.
	IPv6 []netip.Addr `json:"ipv6,omitempty"`

	// Row is the number of last answers that came from the same host: the first ones can come from
	// other hosts, while the health checks find the hosts.
	Row int `json:"row,omitempty"`
}

const (
	// VIPAnswers is the number of answers of a single host that shows persistence: without it,
	// three hosts get all of them by chance in one of two thousand tests.
	VIPAnswers = 8
	// vipLarge is the number of failures of large handshakes that shows their size as the reason.
	vipLarge = 3
)

// Stuck reports whether the load balancer selects the same host every time.
func (v *VIP) Stuck() bool {
	hits, total := v.Answers(), 0
	for _, n := range hits {
		total += n
	}
	return (len(hits) == 1 && total >= VIPAnswers || v.Row >= VIPAnswers && total >= v.Row) && v.Failed() < 2
}

// Answers counts the answers of each control-plane host to handshakes of each size.
func (v *VIP) Answers() map[int]int {
	all := maps.Clone(v.Hits)
	if all == nil {
		all = map[int]int{}
	}
	for host, n := range v.Small {
		all[host] += n
	}
	return all
}

// NeedsSmall reports whether only small handshakes have a reply.
func (v *VIP) NeedsSmall() bool {
	return len(v.Hits) == 0 && len(v.Small) > 0 && v.Failures[NoHandshake] >= vipLarge
}

// Failed is the number of failed connections.
func (v *VIP) Failed() (count int) {
	for _, n := range v.Failures {
		count += n
	}
	return count
}

// Results of connections to the load balancer that no agent answers.
const (
	// OtherCertificate is the certificate of another service: the load balancer terminates TLS, or
	// the address belongs to another service.
	OtherCertificate Result = "other certificate"
	// TerminatesTLS is a request in TLS with another certificate that arrives at a control-plane host.
	TerminatesTLS Result = "terminates TLS"
	// WithoutTLS is an answer to a TLS handshake that is not TLS, such as an HTTP error.
	WithoutTLS Result = "answer without TLS"
	// NoHandshake is an open connection without a reply to the handshake.
	NoHandshake Result = "no reply to TLS"
)

// TransferSize goes each way after the handshake, in bytes. A connection through the load balancer has two
// legs: a leg that loses full-size packets passes the small ones.
const TransferSize = 64 << 10

// transferTries is the number of failures that is a result: one can be a busy host.
const transferTries = 2

// Transfer counts the exchanges of data with a control-plane host through the load balancer.
type Transfer struct {
	To     int `json:"to"`
	Tried  int `json:"tried"`
	Failed int `json:"failed,omitempty"`
	// Sending counts the failures in which this host's data did not arrive. In the other ones the
	// answer did not arrive.
	Sending int `json:"sending,omitempty"`
	// Unacked counts the failures in which the next end of the connection did not acknowledge this
	// host's data.
	Unacked int `json:"unacked,omitempty"`
}

// Settled reports whether the exchanges have a result.
func (t *Transfer) Settled() bool {
	return t != nil && (t.Failed < t.Tried || t.Failed >= transferTries)
}

// stalls reports whether data does not pass to a host. Handshakes without a reply repeat one failure.
func (v *VIP) stalls(t Transfer) bool {
	enough := t.Failed >= transferTries || t.Failed > 0 && v.Failures[NoHandshake] >= transferTries
	return enough && t.Failed == t.Tried
}

// Stall is an exchange of data that did not complete, for the host behind the load balancer.
type Stall struct {
	From     int `json:"from"`
	Received int `json:"received"` // bytes, of TransferSize
	// Unacked is true if the next end of the connection did not acknowledge this host's answer.
	Unacked bool `json:"unacked,omitempty"`
}

// Idle is the result of the test with an idle connection through the load balancer.
type Idle struct {
	For    Seconds `json:"for"`
	Result Result  `json:"result"` // Answered if the load balancer kept it
	// Ended is true if the other end closed it; otherwise it was dropped silently.
	Ended bool `json:"ended,omitempty"`
	To    int  `json:"to"` // the host behind the load balancer
	// Unacked is true if the next end of the connection did not acknowledge the request after the
	// idle time.
	Unacked bool `json:"unacked,omitempty"`
	// Last is true if the host behind the load balancer saw the end first, and its last message arrived.
	Last bool `json:"last,omitempty"`
}

// IdleServer is an idle connection for the host behind the load balancer.
type IdleServer struct {
	From  int     `json:"from"`
	For   Seconds `json:"for"`             // until it ended, or the request arrived
	Ended bool    `json:"ended,omitempty"` // by the other end
	Asked bool    `json:"asked,omitempty"` // the request arrived
}

// With direct server return, every host behind the load balancer has its address, usually on the
// loopback interface, and replies to clients directly. Only the load balancer may answer ARP
// requests for the address. Linux answers them for all addresses of a host, unless arp_ignore is set.

// LocalVIP is the load balancer's address on an interface of a host.
type LocalVIP struct {
	Address   netip.Addr `json:"address"`
	Interface string     `json:"interface"`
	// Direct is true if the interface is not part of a network, as with direct server return.
	Direct bool `json:"direct,omitempty"`
	// ARPIgnore and ARPAnnounce apply to the interface with the host's own address.
	ARPIgnore   int `json:"arpIgnore"`
	ARPAnnounce int `json:"arpAnnounce"`
}

// Behind is the view of a control-plane host behind the load balancer.
type Behind struct {
	// Checks counts the connections without a message from addresses of no host of the plan, such as
	// health checks.
	Checks map[netip.Addr]int `json:"checks,omitempty"`
	// Proxy counts the connections of hosts of the plan that began with a header of the PROXY
	// protocol, by its version.
	Proxy map[string]int `json:"proxy,omitempty"`
	// Stalled are the exchanges of data that did not complete, and Idle the idle connections.
	Stalled []Stall      `json:"stalled,omitempty"`
	Idle    []IdleServer `json:"idle,omitempty"`
}
