package netprobe

import (
	"time"
)

// Path has the numbers of the way from one host to another: shares of flows, losses, rates and
// times. A measurement with a bad result runs again, and each run stays in the list.
type Path struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	TCP  *Flows `json:"tcp,omitempty"`
	UDP  *Flows `json:"udp,omitempty"`
	// Trains are paced small packets of all flows, and Bursts are fast large packets of one flow.
	Trains  []Train  `json:"trains,omitempty"`
	Bursts  []Train  `json:"bursts,omitempty"`
	Latency *Latency `json:"latency,omitempty"`
	// Again is a second measurement between control-plane hosts, if the first one has long round trips.
	Again   *Latency `json:"again,omitempty"`
	Streams []Stream `json:"streams,omitempty"`
}

// Flows has the flows from different source ports to one port. Port channels (LAG) and equal-cost
// routes (ECMP) choose the link of a packet from its addresses and ports.
type Flows struct {
	Port  int `json:"port"`
	Tried int `json:"tried"`
	// Lost are the source ports of the flows that failed in each run.
	Lost []int `json:"lost,omitempty"`
}

// Train has the numbers of a sequence of UDP packets.
type Train struct {
	Size    int `json:"size"` // bytes of an IP packet
	Sent    int `json:"sent"`
	Arrived int `json:"arrived"`
	// Dead is the number of packets on flows of which no packet arrived.
	Dead      int `json:"dead,omitempty"`
	Reordered int `json:"reordered,omitempty"`
	// Overrun is the number of packets that the receiving host dropped itself during the train.
	Overrun int `json:"overrun,omitempty"`
	// Offered and Carried are the rates of the second half, in bits per second: sent, and arrived.
	Offered int `json:"offered,omitempty"`
	Carried int `json:"carried,omitempty"`
}

// Latency has round trips of small messages on one TCP connection, in nanoseconds.
type Latency struct {
	Samples int           `json:"samples"`
	Min     time.Duration `json:"min"`
	Median  time.Duration `json:"median"`
	P99     time.Duration `json:"p99"`
	Jitter  time.Duration `json:"jitter"` // mean difference between successive samples
	// Handshake is the kernel's median of round trips of TCP handshakes. A busy host does not delay
	// them, because no program takes part. It is 0 if the kernel has no value.
	Handshake time.Duration `json:"handshake,omitempty"`
}

// Typical is the round trip of the network: a busy host makes only one of the two values larger.
func (l *Latency) Typical() time.Duration {
	if l.Handshake == 0 {
		return l.Median
	}
	return min(l.Median, l.Handshake)
}

// Long reports whether etcd has a finding about the round trip.
func (l *Latency) Long() bool { return l != nil && l.Typical() > tripWarns }

// FlowCount is the number of source ports. With one bad link of two, at least one of 16 flows uses it in
// all but one of 65,536 measurements; with one bad link of eight, in 88 %.
const FlowCount = 16

// Stream has the numbers of a plain TCP stream, as of an image pull or etcd: full-size packets from
// one host to the other.
type Stream struct {
	Port  int `json:"port"`
	Sent  int `json:"sent"`
	Acked int `json:"acked"` // bytes that the other host's kernel confirmed
	// Took is the time until the other host had everything, in nanoseconds; 0 if it never had.
	Took time.Duration `json:"took,omitempty"`
	// Stalled: the kernel sent the same data again without an answer until the time limit.
	Stalled bool `json:"stalled,omitempty"`
	// PathMTU is the largest packet according to the sender's kernel, which learns it from ICMP. MSS is
	// the payload of a packet, which a router can have changed at the handshake.
	PathMTU int `json:"pathMTU,omitempty"`
	MSS     int `json:"mss,omitempty"`
	// Resent are the packets that the kernel sent again, without those that had arrived.
	Resent int `json:"resent,omitempty"`
}

// Slow is the rate in bits per second below which the stream runs again for longer.
const Slow = 10_000_000

// Rate is in bits per second; 0 without one.
func (s Stream) Rate() int {
	if s.Took <= 0 {
		return 0
	}
	return int(float64(s.Sent) * 8 / s.Took.Seconds())
}

// Lost is the number of packets that the network lost on flows that pass.
func (t Train) Lost() int { return max(0, t.Sent-t.Dead-t.Arrived-t.Overrun) }
