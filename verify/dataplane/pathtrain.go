package dataplane

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
)

// Trains of packets. Packet i belongs to flow i modulo 16, and a round has one packet of each flow.
// 1,008 packets tell 0.5 % from 0.1 %, which 208 packets do not.
const (
	shortTrain = 13 // rounds
	longTrain  = 63
	roundEvery = 15 * time.Millisecond
	packetSize = 64
	maxTrain   = 1024
	maxCounts  = 10
)

// arrivals are the arrived packets of a train.
type arrivals struct {
	numbers   [maxTrain]bool
	latest    int // largest number
	reordered int // packets that arrived behind a later one: of a train with one flow
}

func (a *arrivals) add(number int) {
	if number >= maxTrain || a.numbers[number] {
		return
	}
	if a.numbers[number] = true; number < a.latest {
		a.reordered++
	}
	a.latest = max(a.latest, number)
}

func (a *arrivals) count() (n int) {
	for _, arrived := range a.numbers {
		if arrived {
			n++
		}
	}
	return n
}

func (a *arrivals) byFlow() (by [flows]int) {
	for number, arrived := range a.numbers {
		if arrived {
			by[number%flows]++
		}
	}
	return by
}

func encodePacket(b []byte, id uint64, number int) {
	binary.BigEndian.PutUint64(b, id)
	binary.BigEndian.PutUint16(b[8:], uint16(number))
}

func decodePacket(b []byte) (id uint64, number int) {
	return binary.BigEndian.Uint64(b), int(binary.BigEndian.Uint16(b[8:]))
}

// ownDrops is the number of packets that this host dropped itself since it started: a busy host
// does not read its network cards or sockets in time.
func ownDrops() (dropped int) {
	softnet, _ := os.ReadFile("/proc/net/softnet_stat") // without it, the drops count as losses
	for line := range strings.Lines(string(softnet)) {
		if fields := strings.Fields(line); len(fields) > 1 {
			n, _ := strconv.ParseUint(fields[1], 16, 32)
			dropped += int(n)
		}
	}
	var names []string
	snmp, _ := os.ReadFile("/proc/self/net/snmp")
	for line := range strings.Lines(string(snmp)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "Udp:" {
			continue
		}
		for i, name := range names {
			if i < len(fields) && (name == "RcvbufErrors" || name == "MemErrors") {
				n, _ := strconv.Atoi(fields[i])
				dropped += n
			}
		}
		names = fields
	}
	return dropped
}

// train has the numbers of a train by flow.
type train struct {
	sent, arrived [flows]int
	dropped       int // by the two hosts themselves
}

// lost returns the lost packets of the flows that pass, and the packets of these flows.
func (t train) lost() (lost, of int) {
	for flow, sent := range t.sent {
		if t.arrived[flow] > 0 {
			lost += sent - min(sent, t.arrived[flow])
			of += sent
		}
	}
	return max(0, lost-t.dropped), of
}

// dead reports whether no packet of a flow arrived.
func (t train) dead(flow int) bool { return t.sent[flow] > 0 && t.arrived[flow] == 0 }

func (t train) someDead() bool {
	for flow := range flows {
		if t.dead(flow) {
			return true
		}
	}
	return false
}

// empty reports whether no packet arrived at all.
func (t train) empty() bool { return t.arrived == [flows]int{} }

// lanes are the sockets of the flows to one pod.
type lanes struct {
	call  *pathCall
	conns []net.Conn
}

// openLanes uses the source ports of an earlier measurement where they are free.
func openLanes(ctx context.Context, c *pathCall, to netip.AddrPort, ports []int) (*lanes, error) {
	l := &lanes{call: c}
	for i := range flows {
		dialer := net.Dialer{}
		if i < len(ports) {
			dialer.LocalAddr = &net.UDPAddr{Port: ports[i]}
		}
		conn, err := dialer.DialContext(ctx, "udp4", to.String())
		if err != nil && i < len(ports) {
			conn, err = new(net.Dialer).DialContext(ctx, "udp4", to.String())
		}
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

func (l *lanes) ports() (ports []int) {
	for _, conn := range l.conns {
		if at, is := conn.LocalAddr().(*net.UDPAddr); is {
			ports = append(ports, at.Port)
		}
	}
	return ports
}

// begin asks for the ID of a train.
func (l *lanes) begin() (id uint64, err error) {
	answer, err := l.call.ask("train")
	if err != nil {
		return 0, err
	}
	if id, err = strconv.ParseUint(strings.TrimPrefix(answer, "train "), 10, 64); err != nil {
		return 0, errForeign
	}
	return id, nil
}

// send sends a train of so many rounds and asks for the arrived packets.
func (l *lanes) send(ctx context.Context, rounds int) (t train, err error) {
	id, err := l.begin()
	if err != nil {
		return t, err
	}
	before, err := l.count()
	if err != nil {
		return t, err
	}
	b, own := make([]byte, packetSize), ownDrops()
	for round := range rounds {
		for flow, conn := range l.conns {
			encodePacket(b, id, round*flows+flow)
			if _, err := conn.Write(b); err == nil {
				t.sent[flow]++
			}
		}
		if !pauseFor(ctx, roundEvery) {
			return t, ctx.Err()
		}
	}
	err = l.arrived(ctx, &t, before.dropped)
	t.dropped += max(0, ownDrops()-own)
	return t, err
}

// arrived asks until all packets have arrived, or the number stays the same: queues and busy hosts
// delay packets.
func (l *lanes) arrived(ctx context.Context, t *train, before int) error {
	last, wait := -1, 20*time.Millisecond
	for range maxCounts {
		if !pauseFor(ctx, wait) {
			return ctx.Err()
		}
		got, err := l.count()
		if err != nil {
			return err
		}
		t.arrived, t.dropped = got.arrived, max(0, got.dropped-before)
		sum, all := 0, true
		for flow, n := range got.arrived {
			sum, all = sum+n, all && n >= t.sent[flow]
		}
		if all || sum == last {
			return nil
		}
		last, wait = sum, 300*time.Millisecond
	}
	return errors.New("packets arrive without an end")
}

func (l *lanes) count() (t train, err error) {
	answer, err := l.call.ask("count")
	if err != nil {
		return t, err
	}
	fields := strings.Fields(answer)
	if len(fields) != 2+flows || fields[0] != "count" {
		return t, errForeign
	}
	for i, field := range fields[1:] {
		n, err := strconv.ParseUint(field, 10, 31)
		if err != nil {
			return t, errForeign
		}
		if i == 0 {
			t.dropped = int(n)
		} else {
			t.arrived[i-1] = int(n)
		}
	}
	return t, nil
}

// pauseFor reports whether ctx still runs after the time.
func pauseFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err() == nil
}
