package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

const (
	bulk  = 1 << 20
	piece = 32 << 10
	// stalled is the time limit for a piece of the stream, and longest for all pieces: a slow network or a busy host is not a
	// failure.
	stalled = 3 * time.Second
	longest = 20 * time.Second
	// A stream with checksums by the network card is slow if it takes longer than slow and slowTimes as long as one with checksums
	// by the CPU. Large packets with wrong checksums are lost, and TCP sends their data again in small ones, which pass.
	slow      = 2 * time.Second
	slowTimes = 4
)

// streamed is the result of a stream.
type streamed struct {
	err  error
	took time.Duration
}

// beside returns why the stream with checksums by the network card is no success, given one with checksums by the CPU.
func (s streamed) beside(cpu streamed) error {
	if s.err == nil && cpu.err == nil && s.took > slow && s.took > slowTimes*cpu.took {
		return fmt.Errorf("1 MiB took %.1f s, and %.1f s with checksums by the CPU", s.took.Seconds(), cpu.took.Seconds())
	}
	return s.err
}

// tryStream tests checksums by the CPU only if the ones by the network card fail or are slow. It repeats the
// test with the network card to confirm the failure. It reports whether a stream passed.
func (o *overlay) tryStream(ctx context.Context, to int) bool {
	card := o.stream(ctx, to)
	soft := slices.IndexFunc(o.a.vxlan, func(other *overlay) bool { return other.port == o.port && other.soft })
	if soft < 0 || card.err == nil && card.took <= slow {
		o.a.report.tried(o.attempt(to, netprobe.VXLANTCP, card.err))
		return card.err == nil
	}
	cpu := o.a.vxlan[soft].stream(ctx, to)
	o.a.report.tried(o.attempt(to, netprobe.Soft, cpu.err))
	failure := card.beside(cpu)
	o.a.report.tried(o.attempt(to, netprobe.VXLANTCP, failure))
	if failure != nil && cpu.err == nil {
		o.a.report.tried(o.attempt(to, netprobe.VXLANTCP, o.stream(ctx, to).beside(cpu)))
	}
	return card.err == nil || cpu.err == nil
}

func (o *overlay) stream(ctx context.Context, to int) streamed {
	began := time.Now()
	err := o.send(ctx, to, began.Add(longest))
	return streamed{err, time.Since(began)}
}

// send sends one mebibyte in pieces, and expects the digest of each piece.
func (o *overlay) send(ctx context.Context, to int, until time.Time) error {
	conn, err := o.dial(ctx, "tcp4", to)
	if err != nil {
		return err
	}
	resetOnClose(conn)
	defer conn.Close()
	data := bytes.Repeat(message{kind: netprobe.VXLANTCP, from: o.a.plan.Self, to: to}.encode(o.a.plan.Token), piece/messageSize+1)[:piece]
	want := sha256.Sum256(data)
	got := make([]byte, len(want))
	for range bulk / piece {
		limit := time.Now().Add(stalled)
		if limit.After(until) {
			limit = until
		}
		_ = conn.SetDeadline(limit)
		if _, err = conn.Write(data); err != nil {
			return err
		}
		if _, err = io.ReadFull(conn, got); err != nil {
			return err
		}
		if !bytes.Equal(got, want[:]) {
			return errors.New("the received data differs from the sent data")
		}
	}
	return nil
}
