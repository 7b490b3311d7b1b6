package preflight

import (
	"cmp"
	"fmt"
	"slices"
)

// Path has the measured numbers of the way from one host to another.
type Path struct {
	From string `yaml:"from" json:"from"`
	To   string `yaml:"to" json:"to"`
	// TCP and UDP are flows from different source ports.
	TCP Flows `yaml:"tcpFlows" json:"tcpFlows"`
	UDP Flows `yaml:"udpFlows" json:"udpFlows"`
	// Sent and Lost are UDP packets on the flows that pass.
	Sent int `yaml:"packetsSent" json:"packetsSent"`
	Lost int `yaml:"packetsLost" json:"packetsLost"`
	// ReorderedPercent is the share of the packets of one flow that others have overtaken.
	ReorderedPercent float64 `yaml:"reorderedPercent" json:"reorderedPercent"`
	// Round trips in milliseconds; nil without any.
	Trip *Trip `yaml:"roundTrip,omitempty" json:"roundTrip,omitempty"`
	// Rates in bits per second; 0 without a result. StreamRate is that of a short TCP stream, and BurstRate
	// that of UDP packets at up to 20 Mbit/s.
	StreamRate int `yaml:"streamRate" json:"streamRate"`
	BurstRate  int `yaml:"burstRate" json:"burstRate"`
	// Size is the largest packet that arrives in one piece, and MTU that of the sender's interface, in bytes;
	// 0 if it is unknown.
	Size int `yaml:"size" json:"size"`
	MTU  int `yaml:"mtu" json:"mtu"`
}

// Flows counts flows of a protocol.
type Flows struct {
	Tried int `yaml:"tried" json:"tried"`
	Lost  int `yaml:"lost" json:"lost"`
}

// Trip has the round trips of a path in milliseconds.
type Trip struct {
	Median float64 `yaml:"median" json:"median"`
	P99    float64 `yaml:"p99" json:"p99"`
	Jitter float64 `yaml:"jitter" json:"jitter"`
}

// LostPercent is the share of lost packets.
func (p Path) LostPercent() float64 {
	if p.Sent == 0 {
		return 0
	}
	return 100 * float64(p.Lost) / float64(p.Sent)
}

// narrow reports whether packets of the interface's full size do not pass.
func (p Path) narrow() int {
	if p.Size > 0 && p.Size < p.MTU {
		return 1
	}
	return 0
}

// worse orders paths, the worst one first: by lost flows, losses, sizes, order, rate and round trip.
func (p Path) worse(other Path) int {
	trip := func(p Path) float64 {
		if p.Trip == nil {
			return 0
		}
		return p.Trip.P99
	}
	return cmp.Or(
		cmp.Compare(other.TCP.Lost+other.UDP.Lost, p.TCP.Lost+p.UDP.Lost), cmp.Compare(other.LostPercent(), p.LostPercent()), cmp.Compare(other.narrow(), p.narrow()),
		cmp.Compare(other.ReorderedPercent, p.ReorderedPercent), cmp.Compare(p.StreamRate, other.StreamRate), cmp.Compare(trip(other), trip(p)),
	)
}

// SortPaths sorts paths, the worst one first.
func SortPaths(all []Path) { slices.SortStableFunc(all, Path.worse) }

// shownPaths is the number of paths that a page has. The JSON report has all.
const shownPaths = 20

// pathTable is the part of the paths that a page has.
type pathTable struct {
	Worst  []Path
	Others int
}

// Paths are the measured paths between the hosts; nil without a measurement.
func (p page) Paths() *pathTable {
	var all []Path
	for _, h := range p.Hosts {
		for _, e := range h.Results {
			all = append(all, e.Paths...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	SortPaths(all)
	shown := min(len(all), shownPaths)
	return &pathTable{all[:shown], len(all) - shown}
}

// Text forms of numbers in the table of a page; a dash is a number that is unknown.
func (f Flows) String() string {
	if f.Tried == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", f.Lost, f.Tried)
}

// Loss is "9 of 3344 (0.27 %)".
func (p Path) Loss() string {
	if p.Sent == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d (%.2f %%)", p.Lost, p.Sent, p.LostPercent())
}

// Largest is "1400 of 1500".
func (p Path) Largest() string {
	if p.Size == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", p.Size, p.MTU)
}

// Times are the median, the 99th percentile and the jitter.
func (p Path) Times() string {
	if p.Trip == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f, %.2f, %.2f", p.Trip.Median, p.Trip.P99, p.Trip.Jitter)
}

// Rates are those of TCP and UDP in Mbit/s.
func (p Path) Rates() string { return megabits(p.StreamRate) + ", " + megabits(p.BurstRate) }

func megabits(rate int) string {
	if rate == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", float64(rate)/1e6)
}
