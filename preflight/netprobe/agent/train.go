package agent

import (
	"context"
	"errors"
	"net"
	"slices"
	"syscall"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

// Trains of packets. Packet i of a paced train belongs to flow i modulo 16. A round has one packet of
// each flow. With a loss of 0.5 %, the first train, the first burst and the shortest stream lose no packet
// in 4 of 100 measurements. Otherwise up to three long trains follow, which tell 0.5 % from 0.1 %.
const (
	pacedRounds   = 20
	confirmRounds = 63
	maxTrains     = 4
	roundEvery    = 15 * time.Millisecond
	// A burst is 307 kB at 20 Mbit/s: more than the bucket of a policer of 1 Mbit/s has, which is
	// often a second of its rate. The size passes on nearly all paths: IPv6 requires it.
	burstSize    = 1280
	burstPackets = 240
	manyPackets  = 120 // with many peers: 154 kB
	burstAtOnce  = 10
	burstEvery   = 5 * time.Millisecond
	maxTrain     = 1024
	// suspect is the loss of a burst in percent that makes it run again.
	suspect = 5
)

// numbered reports whether the message is a packet of a train: its size is the packet's number.
func numbered(k netprobe.Kind) bool { return k == netprobe.Paced || k == netprobe.Burst }

// lanes are the sockets of the flows to one UDP port.
type lanes struct {
	s     *session
	port  int
	conns []net.Conn
}

func (s *session) openLanes(ctx context.Context, port int) (*lanes, error) {
	l := &lanes{s: s, port: port}
	for range netprobe.FlowCount {
		conn, err := s.a.dialUDP(ctx, s.to, port)
		if err != nil {
			l.close()
			return nil, err
		}
		l.conns = append(l.conns, conn)
	}
	return l, nil
}

func (l *lanes) close() {
	for _, conn := range l.conns {
		conn.Close()
	}
}

// trains sends trains to the first UDP port on which packets arrive. A train with a loss runs again
// with more packets, from the same source ports.
func (s *session) trains(ctx context.Context, p *netprobe.Path) {
	for _, port := range slices.Concat(s.a.plan.VXLAN, s.a.plan.UDP) {
		l, err := s.openLanes(ctx, port)
		if err != nil {
			return
		}
		found := l.measure(ctx, p)
		l.close()
		if found || ctx.Err() != nil {
			return
		}
	}
}

// measure reports whether packets arrive on the port.
func (l *lanes) measure(ctx context.Context, p *netprobe.Path) bool {
	first, counts, ok := l.train(ctx, pacedRounds)
	if !ok || first.Arrived == 0 {
		return false
	}
	p.UDP, p.Trains = &netprobe.Flows{Port: l.port, Tried: netprobe.FlowCount}, []netprobe.Train{first}
	dead := without(counts)
	if first.Lost() > 0 || len(dead) > 0 {
		second, again, ok := l.train(ctx, confirmRounds)
		if !ok {
			return true
		}
		p.Trains = append(p.Trains, second)
		dead = slices.DeleteFunc(dead, func(flow int) bool { return again[flow] > 0 })
		for _, flow := range dead {
			p.UDP.Lost = append(p.UDP.Lost, sourcePort(l.conns[flow]))
		}
		slices.Sort(p.UDP.Lost)
		l.failed(second, again)
	}
	alive := 0
	for slices.Contains(dead, alive) {
		alive++
	}
	if alive < netprobe.FlowCount {
		l.bursts(ctx, p, alive)
	}
	l.confirm(ctx, p)
	return true
}

// confirm sends long trains after a packet was lost, until one has no loss.
func (l *lanes) confirm(ctx context.Context, p *netprobe.Path) {
	for p.Unsure() && len(p.Trains) < maxTrains {
		t, counts, ok := l.train(ctx, confirmRounds)
		if !ok {
			return
		}
		p.Trains = append(p.Trains, t)
		if len(p.Trains) == 2 { // the packets of one train are enough
			l.failed(t, counts)
		}
	}
}

// failed marks the flow with the most losses of a long train.
func (l *lanes) failed(t netprobe.Train, counts [netprobe.FlowCount]int) {
	if t.Lost() > 0 {
		l.s.a.traces.failsTo(l.s.a.plan.Self, netprobe.Paced, l.s.to, l.port, l.conns[worst(counts)].LocalAddr())
	}
}

// confirmStream sends long trains if only the stream, which came after the trains, lost packets.
func (s *session) confirmStream(ctx context.Context, p *netprobe.Path) {
	if p.UDP == nil || len(p.Trains) != 1 || !p.Unsure() {
		return
	}
	l, err := s.openLanes(ctx, p.UDP.Port)
	if err != nil {
		return
	}
	defer l.close()
	l.confirm(ctx, p)
}

func (l *lanes) bursts(ctx context.Context, p *netprobe.Path, flow int) {
	packets := burstPackets
	if l.s.a.plan.many() {
		packets = manyPackets
	}
	burst, ok := l.burst(ctx, flow, packets)
	if !ok {
		return
	}
	p.Bursts = []netprobe.Train{burst}
	if burst.Lost()*100 < burst.Sent*suspect && burst.Reordered*100 < burst.Sent*suspect {
		return
	}
	if again, ok := l.burst(ctx, flow, 2*burstPackets); ok {
		p.Bursts = append(p.Bursts, again)
		l.s.a.traces.failsTo(l.s.a.plan.Self, netprobe.Burst, l.s.to, l.port, l.conns[flow].LocalAddr())
	}
}

// without returns the flows of which no packet arrived.
func without(counts [netprobe.FlowCount]int) []int {
	var dead []int
	for flow, n := range counts {
		if n == 0 {
			dead = append(dead, flow)
		}
	}
	return dead
}

// worst returns the flow of which the fewest packets arrived, but some.
func worst(counts [netprobe.FlowCount]int) int {
	least := 0
	for flow, n := range counts {
		if n > 0 && (counts[least] == 0 || n < counts[least]) {
			least = flow
		}
	}
	return least
}

func sourcePort(conn net.Conn) int {
	address, _ := conn.LocalAddr().(*net.UDPAddr)
	if address == nil {
		return 0
	}
	return address.Port
}

// train sends a paced train over all flows. ok is false without a tally.
func (l *lanes) train(ctx context.Context, rounds int) (t netprobe.Train, counts [netprobe.FlowCount]int, ok bool) {
	const size = ipHeader + udpHeader + messageSize
	t = netprobe.Train{Size: size}
	clock, before, ok := l.start(netprobe.Paced)
	if !ok {
		return t, counts, false
	}
	sent := [netprobe.FlowCount]int{}
	for round := range rounds {
		for flow, conn := range l.conns {
			if l.send(conn, message{kind: netprobe.Paced, size: round*netprobe.FlowCount + flow, clock: clock}, size) {
				sent[flow]++
				t.Sent++
			}
		}
		if !pause(ctx, roundEvery) {
			return t, counts, false
		}
	}
	got, ok := l.tally(ctx, message{kind: netprobe.Paced, clock: clock}, t.Sent)
	if !ok {
		return t, counts, false
	}
	for flow, n := range got.flows {
		if n == 0 {
			t.Dead += sent[flow]
		}
		t.Arrived += min(n, sent[flow])
	}
	t.Reordered, t.Overrun = min(got.reordered, t.Sent), max(0, got.overrun-before.overrun)
	return t, got.flows, true
}

// burst sends a fast train of large packets on one flow.
func (l *lanes) burst(ctx context.Context, flow, packets int) (t netprobe.Train, ok bool) {
	t = netprobe.Train{Size: burstSize}
	clock, before, ok := l.start(netprobe.Burst)
	if !ok {
		return t, false
	}
	half := packets / 2
	var began time.Time
	for i := range packets {
		if i == half {
			began = time.Now()
		}
		if l.send(l.conns[flow], message{kind: netprobe.Burst, size: i, clock: clock}, burstSize) {
			t.Sent++
		}
		if i%burstAtOnce == burstAtOnce-1 && !pause(ctx, burstEvery) {
			return t, false
		}
	}
	took := time.Since(began)
	got, ok := l.tally(ctx, message{kind: netprobe.Burst, size: half, clock: clock}, t.Sent)
	if !ok || t.Sent < packets {
		return t, false
	}
	rate := func(packets int) int { return int(float64(packets*burstSize*8) / took.Seconds()) }
	t.Arrived, t.Reordered, t.Overrun = min(got.flows[0], t.Sent), min(got.reordered, t.Sent), max(0, got.overrun-before.overrun)
	t.Offered, t.Carried = rate(packets-half), rate(min(got.late, packets-half))
	return t, true
}

// start returns the identity of a new train, and the other host's counters before it.
func (l *lanes) start(kind netprobe.Kind) (clock time.Time, before tally, ok bool) {
	clock = time.Unix(0, time.Now().UnixNano())
	b, err := l.s.ask(message{kind: kind, clock: clock}, tallySize)
	return clock, decodeTally(b), err == nil
}

// send reports whether the packet left. A pending ICMP error takes the place of one packet.
func (l *lanes) send(conn net.Conn, m message, size int) bool {
	m.from, m.to, m.port = l.s.a.plan.Self, l.s.to, l.port
	b := m.padded(l.s.a.plan.Token, size-ipHeader-udpHeader)
	_, err := conn.Write(b)
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) {
		_, err = conn.Write(b)
	}
	return err == nil
}

// maxQuestions bounds the wait for a host that reports one more packet each time.
const maxQuestions = 10

// tally asks for the arrived packets until all have arrived, or no more do: queues and busy hosts
// delay packets.
func (l *lanes) tally(ctx context.Context, m message, sent int) (got tally, ok bool) {
	last, wait := -1, 20*time.Millisecond
	for range maxQuestions {
		if !pause(ctx, wait) {
			return got, false
		}
		b, err := l.s.ask(m, tallySize)
		if err != nil {
			return got, false
		}
		got = decodeTally(b)
		arrived := got.arrived()
		if arrived >= sent || arrived == last {
			return got, true
		}
		last, wait = arrived, 300*time.Millisecond
	}
	return got, false
}

// pause reports whether ctx still runs after the time.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err() == nil
}
