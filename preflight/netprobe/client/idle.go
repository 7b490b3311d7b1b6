package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// kept is how long a load balancer and firewalls should keep idle connections.
const kept = 5 * time.Minute

// An API server closes a connection without a request after 90 seconds. With HTTP/2, a client can
// request an answer, and allow no data of it yet (RFC 9113, flow control). Then the connection has an
// open request, and no packet. After the idle time, the client allows the data.

// keepIdle tests whether the connection still works after the idle time.
func (p *probe) keepIdle(ctx context.Context) {
	opened, _, err := p.open(ctx, true, "h2", "http/1.1")
	conn, is := opened.(*tls.Conn)
	if err != nil || !is {
		p.add("idle", Failed, "no connection: "+reason(err), "test again")
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	framer := http2.NewFramer(conn, conn)
	if err := p.requestLater(conn, framer); err != nil {
		p.add("idle", Note, "not tested: "+reason(err), "")
		return
	}
	before := received(conn)
	began := time.Now()
	done := make(chan struct{})
	var counter sync.WaitGroup
	defer counter.Wait()
	defer close(done)
	counter.Go(func() { p.count(done) })
	err = await(conn, framer, p.idle, nil)
	after := time.Since(began).Round(time.Second)
	fix := "ask the balancer and network teams for an idle timeout of at least five minutes"
	state := Failed
	if after >= kept {
		state = Warn
	}
	var byServer closedByServer
	switch {
	case ctx.Err() != nil:
	case err != nil && timedOut(err):
		p.afterIdle(conn, framer, after, fix)
	case errors.As(err, &byServer), errors.Is(err, io.EOF) && received(conn) > before:
		// A TLS server sends a last message, which no device on the way can make.
		p.add("idle", Note, fmt.Sprintf("the server itself closed the connection after %s", after), "")
	default:
		p.add("idle", state, fmt.Sprintf("a device on the way closed the connection after %s without a packet (%s)", after, reason(err)), fix)
	}
}

// received is the number of bytes below TLS.
func received(conn *tls.Conn) int {
	if c, is := conn.NetConn().(*counted); is {
		return c.received
	}
	return 0
}

// afterIdle allows the data of the answer.
func (p *probe) afterIdle(conn net.Conn, framer *http2.Framer, after time.Duration, fix string) {
	_ = conn.SetDeadline(time.Now().Add(2 * patience))
	err := framer.WriteWindowUpdate(1, 1<<16)
	if err == nil {
		err = await(conn, framer, 2*patience, func(f http2.Frame) bool { _, is := f.(*http2.DataFrame); return is })
	}
	state := Failed
	if after >= kept {
		state = Warn
	}
	if err != nil {
		p.add("idle", state, fmt.Sprintf("the connection no longer works after %s without a packet (%s): a device on the way forgot it", after, reason(err)), fix)
		return
	}
	p.add("idle", OK, fmt.Sprintf("a connection still works after %s without a packet", after), "")
}

// count reports each second of the idle time.
func (p *probe) count(done <-chan struct{}) {
	seconds := time.NewTicker(time.Second)
	defer seconds.Stop()
	for {
		select {
		case <-done:
			return
		case <-seconds.C:
			if p.waited != nil {
				p.waited()
			}
		}
	}
}

// requestLater sends a request without a window for its answer, and waits for the head of the answer.
func (p *probe) requestLater(conn *tls.Conn, framer *http2.Framer) error {
	if protocol := conn.ConnectionState().NegotiatedProtocol; protocol != "h2" {
		return errors.New("the server has no HTTP/2")
	}
	var head bytes.Buffer
	encoder := hpack.NewEncoder(&head)
	for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", p.Address}, {":path", "/version"}} {
		if err := encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
			return err
		}
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, err := io.WriteString(conn, http2.ClientPreface)
	if err == nil {
		err = framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	}
	if err == nil {
		err = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head.Bytes(), EndStream: true, EndHeaders: true})
	}
	if err != nil {
		return err
	}
	empty := false
	err = await(conn, framer, patience, func(f http2.Frame) bool {
		h, is := f.(*http2.HeadersFrame)
		empty = is && h.StreamEnded()
		return is
	})
	if empty {
		return errors.New("the answer of the server is empty")
	}
	_ = conn.SetDeadline(time.Time{})
	return err
}

// closedByServer is a message of HTTP/2 that ends the connection or the answer.
type closedByServer struct{ http2.FrameType }

func (c closedByServer) Error() string { return "the server sent " + c.String() }

// await reads frames until one is the last, or until the time is over.
func await(conn net.Conn, framer *http2.Framer, limit time.Duration, last func(http2.Frame) bool) error {
	_ = conn.SetReadDeadline(time.Now().Add(limit))
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			return err
		}
		if last != nil && last(f) {
			return nil
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				err = framer.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				err = framer.WritePing(true, f.Data)
			}
		case *http2.GoAwayFrame, *http2.RSTStreamFrame:
			return closedByServer{f.Header().Type}
		}
		if err != nil {
			return err
		}
	}
}
