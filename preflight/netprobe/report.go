package netprobe

import (
	"net/netip"
	"slices"
	"sync"
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

	VIP *VIP `json:"vip,omitempty"` // nil if the plan has none
	// Behind is nil if nothing came from the load balancer.
	Behind *Behind `json:"behind,omitempty"`
	// Paths are the numbers of the paths to the other hosts whose agents answer.
	Paths []Path `json:"paths,omitempty"`

	Claims []Claim `json:"claims,omitempty"`

	mu   sync.Mutex
	seen map[Observation]int // index in Observations
	from map[int]int         // number of Observations by host
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

// hasAll reports whether all hosts are in the network of the interface.
func (r *Report) hasAll() bool {
	return !slices.ContainsFunc(r.Hosts, func(h Host) bool { return !r.Network.Contains(h.Address) })
}

// tried records a test. A repeated test replaces the first one if that had no answer.
func (r *Report) tried(a Attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.Attempts, func(b Attempt) bool { return b.To == a.To && b.Kind == a.Kind && b.Port == a.Port && b.Size == a.Size })
	switch {
	case i < 0:
		r.Attempts = append(r.Attempts, a)
	case r.Attempts[i].Result != Answered:
		r.Attempts[i] = a
	}
}

// withoutReply returns the tests of a host to repeat: those without a reply, all failed ones inside
// the VXLAN, where no router or firewall can reply, and all failed ones of an accepted connection.
func (r *Report) withoutReply(to int) []Attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []Attempt
	for _, a := range r.Attempts {
		if a.To == to && (a.Result == NoReply || (a.Kind.inside() || connected(a)) && a.Result != Answered) {
			found = append(found, a)
		}
	}
	return found
}

// maxObservations is far more than the tests of one host give. A host of the plan knows the token,
// and can send any number of different messages.
const maxObservations = 1024

// saw records a received packet, and counts equal ones.
func (r *Report) saw(s Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen, r.from = map[Observation]int{}, map[int]int{}
	}
	s.Count = 0
	i, known := r.seen[s]
	switch {
	case known:
		r.Observations[i].Count++
	case r.from[s.From] < maxObservations:
		r.seen[s] = len(r.Observations)
		r.from[s.From]++
		s.Count = 1
		r.Observations = append(r.Observations, s)
	}
}

func (r *Report) listenFailed(e ListenError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ListenErrors = append(r.ListenErrors, e)
}

// sorted sorts the report, so that reports of the same network are equal.
func (r *Report) sorted() {
	slices.SortFunc(r.Attempts, func(a, b Attempt) int { return compare(a.To, a.Kind, a.Port, a.Size, b.To, b.Kind, b.Port, b.Size) })
	slices.SortFunc(r.Paths, func(a, b Path) int { return a.To - b.To })
	slices.SortFunc(r.Observations, func(a, b Observation) int {
		return compare(a.From, a.Kind, a.Port, a.Size, b.From, b.Kind, b.Port, b.Size)
	})
}

func compare(host int, kind Kind, port, size, host2 int, kind2 Kind, port2, size2 int) int {
	order := func(k Kind) int { return slices.Index(kinds(), k) }
	for _, d := range []int{host - host2, order(kind) - order(kind2), port - port2, size - size2} {
		if d != 0 {
			return d
		}
	}
	return 0
}
