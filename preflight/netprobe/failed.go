package netprobe

import "slices"

// Failed is a connection, or a flow of UDP, with a bad result for the host that began it. Only its
// source port identifies it at the other host, which then reports its packets, too.
type Failed struct {
	From   int  `json:"from"`
	To     int  `json:"to"`
	Kind   Kind `json:"kind"`
	Port   int  `json:"port"`
	Source int  `json:"source"` // port
	UDP    bool `json:"udp,omitempty"`
}

// Kinds of captured packets that are no kinds of tests.
const (
	// LostFlow is a flow of Path.TCP or Path.UDP.
	LostFlow Kind = "lost flow"
	// OtherSource is a packet with another source address than its sender's in the plan.
	OtherSource Kind = "other source"
	// BalancedIdle is the idle connection through the load balancer; Balanced are the other ones.
	BalancedIdle Kind = "balanced, idle"
)

// traced reports whether the packets of a kind are those of whole connections or flows.
func (k Kind) traced() bool {
	return slices.Contains([]Kind{TLS, Session, Paced, Burst, Bulk, LostFlow, OtherSource, Balanced, BalancedIdle}, k)
}

// MaxFailed is the largest number of connections that a host reports as failed.
const MaxFailed = 512

// failedAt returns the connections to host i, of those that all hosts report. A report of another
// number of connections is not from an agent.
func failedAt(all map[int][]Failed, i int) []Failed {
	var found []Failed
	for from := range all {
		for _, f := range all[from][:min(len(all[from]), MaxFailed)] {
			if f.To == i && f.From == from {
				found = append(found, f)
			}
		}
	}
	return found
}
