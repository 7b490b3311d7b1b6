package netprobe

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Schema is the version of the form of Report.
const Schema = 1

// Report is what one host tried and saw.
type Report struct {
	Schema int    `json:"schema"`
	Self   int    `json:"self"`
	Hosts  []Host `json:"hosts"`
	// Measured says which run it belongs to: a code of the token, which is not one.
	Measured string    `json:"measured"`
	Taken    time.Time `json:"taken"`
	Identity Identity  `json:"identity"`
	MTU      int       `json:"mtu"` // of the interface with the host's address
	// Network is that interface's.
	Network netip.Prefix `json:"network"`

	Attempts []Attempt `json:"attempts"`
	Sights   []Sight   `json:"sights"`
	Deaf     []Deaf    `json:"deaf,omitempty"`

	VIP *VIP `json:"vip,omitempty"` // nil when the plan has none

	mu sync.Mutex
}

// Identity is what no two hosts may have in common.
type Identity struct {
	Hostname  string   `json:"hostname"`
	MachineID string   `json:"machineID"`
	MACs      []string `json:"macs"`
}

// Result is how an attempt went, as its sender sees it.
type Result string

// What came back. One-way attempts are only Sent.
const (
	Answered    Result = "answered" // by the other host's agent
	Stranger    Result = "stranger" // by another program
	Refused     Result = "refused"
	Unreachable Result = "unreachable" // somebody said so: a router or a firewall
	Silence     Result = "silence"
	Sent        Result = "sent"
	Unsendable  Result = "unsendable" // this host's kernel would not send it
)

// Attempt is what a host tried with another one.
type Attempt struct {
	To     int    `json:"to"`
	Kind   Kind   `json:"kind"`
	Port   int    `json:"port,omitempty"`
	Size   int    `json:"size,omitempty"` // bytes of the IP packet
	Result Result `json:"result"`
	Said   string `json:"said,omitempty"` // by the kernel
	// Ahead is the other host's clock before this one's, and Trip the time to it and
	// back, where the answer tells, in nanoseconds.
	Ahead time.Duration `json:"ahead,omitempty"`
	Trip  time.Duration `json:"trip,omitempty"`
}

// Layer is where a host saw a packet.
type Layer string

// At the interface nothing of the host has dropped the packet yet.
const (
	AtInterface Layer = "interface"
	AtSocket    Layer = "socket"
)

// Sight is what a host saw of another one.
type Sight struct {
	From  int   `json:"from"`
	Kind  Kind  `json:"kind"`
	Port  int   `json:"port,omitempty"`
	Size  int   `json:"size,omitempty"`
	Layer Layer `json:"layer"`
	Count int   `json:"count"`
}

// Deaf is where a host could not listen, and why. Kind IPIP or a VXLAN's without a
// port, and AtInterface for all that arrives.
type Deaf struct {
	Kind  Kind   `json:"kind,omitempty"`
	Port  int    `json:"port,omitempty"`
	Layer Layer  `json:"layer"`
	Why   string `json:"why"`
}

// hasAll tells whether all hosts lie in the interface's network.
func (r *Report) hasAll() bool {
	return !slices.ContainsFunc(r.Hosts, func(h Host) bool { return !r.Network.Contains(h.Address) })
}

// tried notes an attempt. A second one of the same replaces a first that was not answered.
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

// silent are the attempts with a host that met silence, or what cannot be: inside the VXLAN
// nobody but an agent refuses.
func (r *Report) silent(to int) []Attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []Attempt
	for _, a := range r.Attempts {
		if a.To == to && (a.Result == Silence || a.Kind.inside() && a.Result != Answered) {
			found = append(found, a)
		}
	}
	return found
}

// saw counts a packet. More than the first few of a kind say nothing new.
func (r *Report) saw(s Sight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Count = 0
	for i := range r.Sights {
		seen := r.Sights[i]
		seen.Count = 0
		if seen == s {
			r.Sights[i].Count++
			return
		}
	}
	s.Count = 1
	r.Sights = append(r.Sights, s)
}

func (r *Report) deaf(d Deaf) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Deaf = append(r.Deaf, d)
}

// sorted makes reports of the same network look the same.
func (r *Report) sorted() {
	slices.SortFunc(r.Attempts, func(a, b Attempt) int { return compare(a.To, a.Kind, a.Port, a.Size, b.To, b.Kind, b.Port, b.Size) })
	slices.SortFunc(r.Sights, func(a, b Sight) int {
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
