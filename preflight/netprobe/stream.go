package netprobe

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

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
	Resent  int `json:"resent,omitempty"` // packets
}

const (
	// leastStream is the size of a small image layer or of a snapshot's first part: 200 full packets.
	leastStream = 300_000
	mostStream  = 4 << 20
	manyStream  = 1 << 20 // with many peers
	streamTime  = 250 * time.Millisecond
	streamLimit = 30 * time.Second
	streamDials = 6
)

// slow is the rate in bits per second below which the stream runs again for longer.
const slow = 10_000_000

// Rate is in bits per second; 0 without one.
func (s Stream) Rate() int {
	if s.Took <= 0 {
		return 0
	}
	return int(float64(s.Sent) * 8 / s.Took.Seconds())
}

// tryStreams sends a bounded stream, and another one after a bad result.
func (a *agent) tryStreams(ctx context.Context, to, port int) []Stream {
	most := mostStream
	if a.plan.many() {
		most = manyStream
	}
	var all []Stream
	for _, long := range []time.Duration{streamTime, 4 * streamTime} {
		conn := a.openStream(ctx, to, port)
		if conn == nil {
			return all
		}
		s := send(conn, port, most, long, a.plan.Token)
		conn.Close()
		if ctx.Err() != nil {
			return all
		}
		all = append(all, s)
		if !s.Stalled && s.Rate() >= slow {
			break
		}
	}
	return all
}

// openStream tries a few source ports, because one bad link loses some flows.
func (a *agent) openStream(ctx context.Context, to, port int) net.Conn {
	for range streamDials {
		if conn, _, err := a.dialFrom(ctx, to, port, 0, sessionDial); err == nil {
			if _, err := conn.Write(message{kind: Bulk, from: a.plan.Self, to: to, port: port, clock: time.Now()}.encode(a.plan.Token)); err == nil {
				return conn
			}
			conn.Close()
		}
	}
	return nil
}

// send writes zeros until the byte or the time limit, and waits until the other host has them.
func send(conn net.Conn, port, most int, long time.Duration, t Token) Stream {
	s := Stream{Port: port}
	resetOnClose(conn)
	watch := &progress{conn, uint64(messageSize) + 1} // of the handshake and the first message
	began := time.Now()
	zeros := make([]byte, piece)
	for s.Sent < leastStream || s.Sent < most && time.Since(began) < long {
		_ = conn.SetDeadline(time.Now().Add(stalled))
		n, err := conn.Write(zeros)
		if s.Sent += n; err != nil && !watch.goesOn(err, began) {
			return s.ended(conn, err)
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
			return s.ended(conn, err)
		}
	}
	if m, err := t.decode(buf); err != nil || !m.reply || m.kind != Bulk {
		return s.ended(conn, errForeign)
	}
	s.Took = time.Since(began)
	return s.ended(conn, nil)
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
func (s Stream) ended(conn net.Conn, err error) Stream {
	info := tcpInfo(conn)
	s.Acked = min(s.Sent, max(0, int(info.Bytes_acked)-messageSize-1))
	s.PathMTU, s.MSS, s.Resent = int(info.Pmtu), int(info.Snd_mss), int(info.Total_retrans)
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
	back := message{kind: Bulk, reply: true, from: p.plan.Self, to: first.from, port: first.port, clock: time.Now()}
	_, _ = p.conn.Write(back.encode(p.plan.Token))
}
