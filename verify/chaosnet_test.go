package verify

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// memoryNet carries HTTP/2 between goroutines, so that a test with a fake clock waits only for
// time.
type memoryNet struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once

	mu    sync.Mutex
	conns []*memoryConn
}

func newMemoryNet() *memoryNet {
	return &memoryNet{accepted: make(chan net.Conn), closed: make(chan struct{})}
}

// connection is the context key of a request's *memoryConn.
type connection struct{}

// serve starts a server with a handler, and returns the function that stops it.
func (n *memoryNet) serve(handler http.Handler) (end func()) {
	server := &http.Server{
		Handler: handler, Protocols: unencrypted(), ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connection{}, c) },
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(n) })
	return func() { n.drop(); server.Close(); serving.Wait() }
}

// transport dials the server, with the pings of client-go.
func (n *memoryNet) transport() *http.Transport {
	return &http.Transport{
		DialContext: n.dial, Protocols: unencrypted(),
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

func unencrypted() *http.Protocols {
	p := &http.Protocols{}
	p.SetUnencryptedHTTP2(true)
	return p
}

func (n *memoryNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := newPipe(), newPipe()
	client, server := &memoryConn{in: here, out: there}, &memoryConn{in: there, out: here}
	select {
	case n.accepted <- server:
	case <-n.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns = append(n.conns, client)
	return client, nil
}

// drop closes all connections.
func (n *memoryNet) drop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		c.Close()
	}
	n.conns = nil
}

// kill stops the traffic of all connections without an error.
func (n *memoryNet) kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		c.in.kill()
		c.out.kill()
	}
}

func (n *memoryNet) Accept() (net.Conn, error) {
	select {
	case c := <-n.accepted:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *memoryNet) Close() error   { n.once.Do(func() { close(n.closed) }); return nil }
func (n *memoryNet) Addr() net.Addr { return &net.TCPAddr{} }

// pipe is one direction of a connection, with an unlimited buffer.
type pipe struct {
	mu     sync.Mutex
	some   *sync.Cond
	data   []byte
	closed bool
	dead   bool
}

func newPipe() *pipe {
	p := &pipe{}
	p.some = sync.NewCond(&p.mu)
	return p
}

func (p *pipe) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
}

func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.some.Broadcast()
}

type memoryConn struct{ in, out *pipe }

func (c *memoryConn) Read(to []byte) (int, error) {
	p := c.in
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.data) == 0 && !p.closed {
		p.some.Wait()
	}
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := copy(to, p.data)
	p.data = p.data[n:]
	return n, nil
}

func (c *memoryConn) Write(data []byte) (int, error) {
	p := c.out
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, io.ErrClosedPipe
	}
	if !p.dead {
		p.data = append(p.data, data...)
		p.some.Broadcast()
	}
	return len(data), nil
}

// lost reports whether written data may be lost.
func (c *memoryConn) lost() bool {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	return c.out.dead || c.out.closed
}

func (c *memoryConn) Close() error {
	c.in.close()
	c.out.close()
	return nil
}

func (c *memoryConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *memoryConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *memoryConn) SetDeadline(time.Time) error      { return nil }
func (c *memoryConn) SetReadDeadline(time.Time) error  { return nil }
func (c *memoryConn) SetWriteDeadline(time.Time) error { return nil }
