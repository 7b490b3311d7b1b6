package agent

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

const (
	// leastStream is the size of a small image layer or of a snapshot's first part: 200 full packets.
	leastStream = 300_000
	mostStream  = 4 << 20
	manyStream  = 1 << 20 // with many peers
	streamTime  = 250 * time.Millisecond
	streamLimit = 30 * time.Second
	streamDials = 6
)

// streams sends a bounded stream, and another one after a bad result.
func (s *session) streams(ctx context.Context) []netprobe.Stream {
	most := mostStream
	if s.a.plan.many() {
		most = manyStream
	}
	var all []netprobe.Stream
	for _, long := range []time.Duration{streamTime, 4 * streamTime} {
		conn := s.openStream(ctx)
		if conn == nil {
			return all
		}
		sent := send(conn, s.port, most, long, s.a.plan.Token)
		conn.Close()
		if ctx.Err() != nil {
			return all
		}
		all = append(all, sent)
		if len(all) > 1 {
			s.a.traces.failsTo(s.a.plan.Self, netprobe.Bulk, s.to, s.port, conn.LocalAddr())
		}
		if !sent.Stalled && sent.Rate() >= netprobe.Slow {
			break
		}
	}
	return all
}

// openStream tries a few source ports, because one bad link loses some flows.
func (s *session) openStream(ctx context.Context) net.Conn {
	for range streamDials {
		if conn, _, err := s.a.dialFrom(ctx, s.to, s.port, 0, sessionDial); err == nil {
			if _, err := conn.Write(message{kind: netprobe.Bulk, from: s.a.plan.Self, to: s.to, port: s.port, clock: time.Now()}.encode(s.a.plan.Token)); err == nil {
				return conn
			}
			conn.Close()
		}
	}
	return nil
}

// send writes zeros until the byte or the time limit, and waits until the other host has them.
func send(conn net.Conn, port, most int, long time.Duration, t netprobe.Token) netprobe.Stream {
	s := netprobe.Stream{Port: port}
	resetOnClose(conn)
	watch := &progress{conn, uint64(messageSize) + 1} // of the handshake and the first message
	began := time.Now()
	zeros := make([]byte, piece)
	for s.Sent < leastStream || s.Sent < most && time.Since(began) < long {
		_ = conn.SetDeadline(time.Now().Add(stalled))
		n, err := conn.Write(zeros)
		if s.Sent += n; err != nil && !watch.goesOn(err, began) {
			return ended(s, conn, err)
		}
	}
	if half, is := conn.(*net.TCPConn); is {
		_ = half.CloseWrite() // the read reports an error
	}
	buf, have := make([]byte, messageSize), 0
	for have < len(buf) {
		_ = conn.SetDeadline(time.Now().Add(stalled))
		n, err := conn.Read(buf[have:])
		if have += n; err != nil && have < len(buf) && !watch.goesOn(err, began) {
			return ended(s, conn, err)
		}
	}
	if m, err := decode(t, buf); err != nil || !m.reply || m.kind != netprobe.Bulk {
		return ended(s, conn, errForeign)
	}
	s.Took = time.Since(began)
	return ended(s, conn, nil)
}

// progress finds out whether a stream that is over its time limit still moves. A slow network and a
// busy host are no failures.
type progress struct {
	conn  net.Conn
	acked uint64
}

func (p *progress) goesOn(err error, began time.Time) bool {
	acked := tcpInfo(p.conn).Bytes_acked
	moved := acked > p.acked
	p.acked = acked
	return moved && errors.Is(err, os.ErrDeadlineExceeded) && time.Since(began) < streamLimit
}

// ended adds the kernel's numbers. The kernel has sent again at least twice where the path loses the
// packets; a busy program at the other end does not cause that, because its kernel confirms data.
func ended(s netprobe.Stream, conn net.Conn, err error) netprobe.Stream {
	info := tcpInfo(conn)
	s.Acked = min(s.Sent, max(0, int(info.Bytes_acked)-messageSize-1))
	s.PathMTU, s.MSS, s.Resent = int(info.Pmtu), int(info.Snd_mss), max(0, int(info.Total_retrans)-int(info.Dsack_dups))
	s.Stalled = errors.Is(err, os.ErrDeadlineExceeded) && info.Retransmits >= 2
	if err == nil {
		s.Acked = s.Sent
	}
	return s
}

// receive reads a stream and confirms its end. It stores nothing.
func (p responder) receive(first message) {
	_ = p.conn.SetDeadline(time.Now().Add(streamLimit))
	if _, err := io.Copy(io.Discard, io.LimitReader(p.r, mostStream+piece)); err != nil {
		return
	}
	back := message{kind: netprobe.Bulk, reply: true, from: p.plan.Self, to: first.from, port: first.port, clock: time.Now()}
	_, _ = p.conn.Write(back.encode(p.plan.Token))
}
