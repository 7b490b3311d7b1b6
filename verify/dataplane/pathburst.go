package dataplane

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A burst has the size and the rate of those between hosts (preflight/netprobe): 205 kB at 20 Mbit/s, more than
// the bucket of a policer of 1 Mbit/s has. With 8 paths in a round, a node sends 1.6 MB of bursts.
const (
	burstSize    = 1280 - ipUDPHeader
	ipUDPHeader  = 28
	burstPackets = 160
	burstAtOnce  = 10
	burstEvery   = 5 * time.Millisecond
	// policedFrom is the loss of bursts in percent, where slow packets pass.
	policedFrom = 5
	// reorderCounts is in percent. Single packets overtake others where a sender moves to another processor; a
	// network that spreads packets over two links reorders a quarter or more.
	reorderCounts = 5
)

// burst has the numbers of fast large packets of one flow.
type burst struct {
	sent, arrived, reordered int
	dropped                  int // by the two hosts themselves
}

func (b burst) lost() int { return max(0, b.sent-b.arrived-b.dropped) }

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}

// failures returns those of a burst on a path that loses this share of slow packets, in percent.
func (b burst) failures(node string, slow float64) (found []Failure) {
	if b.arrived == 0 { // too large for the path: the calls with 64 KiB report it
		return nil
	}
	if lost := b.lost(); share(lost, b.sent) >= policedFrom+2*slow {
		found = append(found, Failure{burstsTo + node, fmt.Sprintf("%d of %d packets of 1,280 bytes are lost at 20 Mbit/s (%.0f %%), and slow small packets pass", lost, b.sent, share(lost, b.sent))})
	}
	if percent := share(b.reordered, b.arrived); percent >= reorderCounts {
		found = append(found, Failure{orderTo + node, fmt.Sprintf("%.0f %% of the packets of one flow arrive behind later ones", percent)})
	}
	return found
}

// burst sends a burst on a flow, and asks for the arrived packets and their order. A pod of an older version ends
// the connection at that question.
func (l *lanes) burst(ctx context.Context, flow int) (b burst, err error) {
	id, err := l.begin()
	if err != nil {
		return b, err
	}
	before, err := l.order()
	if err != nil {
		return b, err
	}
	packet, own := make([]byte, burstSize), ownDrops()
	for i := range burstPackets {
		encodePacket(packet, id, i)
		if _, err := l.conns[flow].Write(packet); err == nil {
			b.sent++
		}
		if i%burstAtOnce == burstAtOnce-1 && !pauseFor(ctx, burstEvery) {
			return b, ctx.Err()
		}
	}
	last, wait := -1, 20*time.Millisecond
	for range maxCounts {
		if !pauseFor(ctx, wait) {
			return b, ctx.Err()
		}
		got, err := l.order()
		if err != nil {
			return b, err
		}
		b.arrived, b.reordered, b.dropped = got.arrived, got.reordered, max(0, got.dropped-before.dropped)
		if b.arrived >= b.sent || b.arrived == last {
			break
		}
		last, wait = b.arrived, 300*time.Millisecond
	}
	b.dropped += max(0, ownDrops()-own)
	return b, nil
}

func (l *lanes) order() (b burst, err error) {
	answer, err := l.call.ask("order")
	if err != nil {
		return b, err
	}
	fields := strings.Fields(answer)
	if len(fields) != 4 || fields[0] != "order" {
		return b, errForeign
	}
	for i, to := range []*int{&b.dropped, &b.arrived, &b.reordered} {
		n, err := strconv.ParseUint(fields[1+i], 10, 31)
		if err != nil {
			return b, errForeign
		}
		*to = int(n)
	}
	if b.reordered > b.arrived || b.arrived > maxTrain {
		return b, errForeign
	}
	return b, nil
}
