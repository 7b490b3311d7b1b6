package netprobe

import (
	"slices"
	"time"
)

// Partial: some flows to the port arrive, others do not. The result of one flow is chance, so the
// finding about the flows replaces it.
const Partial State = "some flows are lost"

// maxRuns is the number of runs of a measurement in a report of an agent.
const maxRuns = 4

// addPaths adds the numbers of a host's report.
func (m *Matrix) addPaths(r *Report) {
	var known []int
	for _, p := range r.Paths {
		bad := p.To < 0 || p.To >= len(m.Hosts) || p.To == r.Self || slices.Contains(known, p.To)
		if bad || len(p.Trains) > maxRuns || len(p.Bursts) > maxRuns || len(p.Streams) > maxRuns || !p.TCP.valid() || !p.UDP.valid() {
			continue // not from an agent of this version
		}
		known = append(known, p.To)
		p.From = r.Self
		m.Paths = append(m.Paths, p)
	}
}

func (f *Flows) valid() bool { return f == nil || f.Tried <= FlowCount+1 && len(f.Lost) <= f.Tried }

// some reports whether some flows are lost, and others pass.
func (f *Flows) some() bool { return f != nil && len(f.Lost) > 0 && len(f.Lost) < f.Tried }

// markPartial marks the results of single flows on paths that lose some flows. All but the sizes need
// an answer, which is a flow of the way back. A rule of the other host that stops the packets is no chance.
// Where the network limits the rate of UDP, the largest packet that arrives is chance, too.
func (m *Matrix) markPartial() {
	udp, tcp, policed := map[[2]int]bool{}, map[[2]int]bool{}, map[[2]int]bool{}
	for _, p := range m.Paths {
		way := [2]int{p.From, p.To}
		udp[way], tcp[way] = p.UDP.some(), p.TCP.some()
		_, policed[way] = p.policed()
	}
	for i, v := range m.Verdicts {
		if v.Kind == Size && v.State == Narrow && policed[[2]int{v.From, v.To}] {
			m.Verdicts[i].State, m.Verdicts[i].Size = Partial, 0
			continue
		}
		if v.State == Open || v.State == SenderCloses || v.Rule != "" || v.Size > 0 {
			continue
		}
		there, back := [2]int{v.From, v.To}, [2]int{v.To, v.From}
		partial := false
		switch v.Kind {
		case TCP:
			partial = tcp[there]
		case UDP, VXLANTCP:
			partial = udp[there] || udp[back]
		case Size:
			partial = udp[there]
		}
		if partial {
			m.Verdicts[i].State = Partial
		}
	}
}

// Limits of the findings, in percent of the packets.
const (
	// A Kubernetes cluster works with a loss of 0.1 %; with 0.5 %, TCP between racks (1 ms) is at most
	// 165 Mbit/s (Mathis et al., 1997). Of 3,024 packets, 0.25 % are between the two: a loss of 0.5 % is
	// found in more than 90 of 100 measurements, and one of 0.1 % gives a warning in fewer than 2. With 5 %,
	// one of ten lookups of a name waits five seconds.
	lossWarns = 0.25
	lossStops = 5
	// Single packets overtake others where a sender moves to another processor. A network that
	// spreads packets over two links reorders a quarter or more.
	reorderWarns = 5
	// policedFrom is the loss of bursts, where paced trains pass.
	policedFrom = 5
	// otherwise is how many times faster TCP is where the limit is for UDP: paths share a slow link.
	otherwise = 4
)

// Unsure reports whether a packet was lost, and no long train since then passed without a loss.
func (p Path) Unsure() bool {
	if long := len(p.Trains) - 1; long > 0 {
		return p.Trains[long].Lost() > 0
	}
	lost := func(t Train) bool { return t.Lost() > 0 }
	return slices.ContainsFunc(p.Trains, lost) || slices.ContainsFunc(p.Bursts, lost) || slices.ContainsFunc(p.Streams, func(s Stream) bool { return s.Resent > 0 })
}

// lossy returns the share of lost packets in percent, and the sum of the long trains that have them. The
// first train is short, and its loss is the reason for the others. Each long train must have a loss, and at
// least two trains: a network that switches to another path loses packets once.
func (p Path) lossy() (percent float64, all Train) {
	lossy := 0
	for i, t := range p.Trains {
		switch {
		case t.Lost() > 0:
			lossy++
		case i > 0:
			return 0, Train{}
		}
		if i > 0 {
			all.Sent, all.Arrived, all.Dead, all.Overrun = all.Sent+t.Sent, all.Arrived+t.Arrived, all.Dead+t.Dead, all.Overrun+t.Overrun
		}
	}
	if len(p.Trains) < 2 || lossy < 2 {
		return 0, Train{}
	}
	return percentOf(all.Lost(), all.Sent-all.Dead), all
}

// policed returns the rate of UDP packets that passes, in bits per second; ok is true if bursts lose
// packets, slow trains do not, and the path carries more by TCP: otherwise the path is slow.
func (p Path) policed() (rate int, ok bool) {
	if len(p.Bursts) < 2 {
		return 0, false
	}
	slowLoss, _ := p.lossy()
	for _, b := range p.Bursts {
		if b.Arrived == 0 || percentOf(b.Lost(), b.Sent) < policedFrom+2*slowLoss {
			return 0, false
		}
	}
	b := p.Bursts[len(p.Bursts)-1]
	stream, slow := p.slowest()
	return b.Carried, b.Carried < b.Offered && (!slow || stream > otherwise*b.Carried)
}

// reorders returns the smallest share of reordered packets in percent of two bursts.
func (p Path) reorders() float64 {
	if len(p.Bursts) < 2 {
		return 0
	}
	least := 100.0
	for _, b := range p.Bursts {
		least = min(least, percentOf(b.Reordered, b.Arrived))
	}
	return least
}

// stalled reports whether each stream stalled.
func (p Path) stalled() bool {
	return len(p.Streams) > 1 && !slices.ContainsFunc(p.Streams, func(s Stream) bool { return !s.Stalled })
}

// startTrips is more than the round trips of the slow start of leastStream (RFC 6928: ten segments,
// then twice as many in each round trip), and of its end.
const startTrips = 8

// slowest returns the best rate of two streams that were both slow, in bits per second. The round
// trips of the start of a stream do not count, because a long way is not a slow one.
func (p Path) slowest() (rate int, ok bool) {
	var start time.Duration
	if p.Latency != nil {
		start = startTrips * p.Latency.Typical()
	}
	for _, s := range p.Streams {
		if s.Rate() == 0 || s.Took <= start || s.Rate() >= Slow {
			return 0, false
		}
		if later := (Stream{Sent: s.Sent, Took: s.Took - start}); later.Rate() >= Slow {
			return 0, false
		}
		rate = max(rate, s.Rate())
	}
	return rate, len(p.Streams) > 1
}

// stalls reports whether host traffic stalls on the path of a verdict about sizes: a smaller packet
// of the pod network does not help it.
func (m *Matrix) stalls(v Verdict) bool {
	return slices.ContainsFunc(m.Paths, func(p Path) bool { return p.From == v.From && p.To == v.To && p.stalled() })
}

func percentOf(n, of int) float64 {
	if of <= 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}
