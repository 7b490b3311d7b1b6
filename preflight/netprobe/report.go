package netprobe

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Schema is the version of the format of Report.
const Schema = 2

// Report has the tests and observations of one host.
type Report struct {
	Schema int    `json:"schema"`
	Self   int    `json:"self"`
	Hosts  []Host `json:"hosts"`
	// Measured identifies the measurement. It does not reveal the token.
	Measured string    `json:"measured"`
	Taken    time.Time `json:"taken"`
	Identity Identity  `json:"identity"`
	MTU      int       `json:"mtu"` // of the interface with the host's address
	// Network is the network of that interface.
	Network netip.Prefix `json:"network"`

	Attempts     []Attempt     `json:"attempts"`
	Observations []Observation `json:"observations"`
	ListenErrors []ListenError `json:"listenErrors,omitempty"`
	// Sources are the source addresses that are not the sender's address in the plan.
	Sources []Source `json:"sources,omitempty"`

	// Closed are the packets that this host's own packet filter stopped.
	Closed []Closed `json:"closed,omitempty"`

	// ReversePath is nil if the reverse path filter dropped nothing.
	ReversePath *ReversePath `json:"reversePath,omitempty"`

	VIP *VIP `json:"vip,omitempty"` // nil if the plan has none
	// Behind is nil if nothing came from the load balancer.
	Behind *Behind `json:"behind,omitempty"`
	// Paths are the numbers of the paths to the other hosts whose agents answer.
	Paths []Path `json:"paths,omitempty"`

	Claims []Claim `json:"claims,omitempty"`

	Packets []Packet `json:"packets,omitempty"` // at most MaxPackets
}

// Identity has the identifiers that must be unique.
type Identity struct {
	Hostname  string   `json:"hostname"`
	MachineID string   `json:"machineID"`
	MACs      []string `json:"macs"`
	// ProductUUID is from the firmware; "" if there is none.
	ProductUUID string `json:"productUUID,omitempty"`
}

// Result is the outcome of a test for its sender.
type Result string

// Results. A one-way test is only Sent or NotSent.
const (
	Answered     Result = "answered"      // by the agent of the other host
	OtherProgram Result = "other program" // a reply from another program
	Refused      Result = "refused"
	Unreachable  Result = "unreachable" // reported by a router or a firewall
	NoReply      Result = "no reply"
	Sent         Result = "sent"
	NotSent      Result = "not sent" // refused by this host's kernel
	// Silent and Ended are connections that the other end, or a device on the way, accepted.
	Silent Result = "connected, then no reply"
	Ended  Result = "connected, then closed"
)

// Attempt is a test of another host.
type Attempt struct {
	To     int    `json:"to"`
	Kind   Kind   `json:"kind"`
	Port   int    `json:"port,omitempty"`
	Size   int    `json:"size,omitempty"` // bytes of the IP packet
	Result Result `json:"result"`
	Said   string `json:"said,omitempty"` // error of the kernel
	// Bytes are the received bytes inside TLS, and Source is the address that this host's routes
	// choose for it, if that is not the address in the plan.
	Bytes  int        `json:"bytes,omitempty"`
	Source netip.Addr `json:"source,omitzero"`
	// Ahead is the other host's clock minus this host's clock, and Trip the round-trip time, both in
	// nanoseconds and only for replies with a clock.
	Ahead time.Duration `json:"ahead,omitempty"`
	Trip  time.Duration `json:"trip,omitempty"`
}

// Layer is the place where a host received a packet.
type Layer string

// AtInterface is before the host's own firewall, AtSocket behind it.
const (
	AtInterface Layer = "interface"
	AtSocket    Layer = "socket"
)

// Observation is a received packet from another host, with the count of equal ones.
type Observation struct {
	From  int   `json:"from"`
	Kind  Kind  `json:"kind"`
	Port  int   `json:"port,omitempty"`
	Size  int   `json:"size,omitempty"`
	Layer Layer `json:"layer"`
	Count int   `json:"count"`
}

// ListenError is a failure to listen. AtInterface without a Kind is a failure to capture packets.
type ListenError struct {
	Kind  Kind   `json:"kind,omitempty"`
	Port  int    `json:"port,omitempty"`
	Layer Layer  `json:"layer"`
	Why   string `json:"why"`
}

// The largest numbers of entries for each host of the plan. An agent of this program has fewer.
const (
	maxAttemptsOf     = 256
	maxObservationsOf = 1024
)

// bounded returns an error for a report with more entries than an agent makes. Judge compares entries with
// each other, so that a hostile report could stop it.
func (r *Report) bounded() error {
	hosts := len(r.Hosts)
	if len(r.Attempts) > maxAttemptsOf*hosts || len(r.Observations) > maxObservationsOf*hosts || len(r.Closed) > maxAttemptsOf*hosts ||
		len(r.ListenErrors) > maxAttemptsOf || len(r.Sources) > MaxSources*(hosts+1) || r.ReversePath != nil && len(r.ReversePath.Ways) > hosts {
		return fmt.Errorf("evaluate the measurement: the report of host %d has more entries than an agent makes", r.Self)
	}
	return nil
}

// hasAll reports whether all hosts are in the network of the interface.
func (r *Report) hasAll() bool {
	return !slices.ContainsFunc(r.Hosts, func(h Host) bool { return !r.Network.Contains(h.Address) })
}

// Connected reports whether the attempt has a TCP connection, but no answer of the agent.
func (a Attempt) Connected() bool {
	switch a.Result {
	case OtherProgram, OtherCertificate, Silent, Ended:
		return true
	}
	return false
}
