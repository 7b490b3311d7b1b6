package verify

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// balancer forwards TCP connections to one server.
type balancer struct {
	listener net.Listener
	frozen   atomic.Bool // connections stay open without traffic

	mu    sync.Mutex
	to    string
	conns []net.Conn
}

func newBalancer(t *testing.T, to string) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{listener: listener, to: to}
	t.Cleanup(func() { listener.Close(); b.sendTo("") })
	go b.serve()
	return b
}

func (b *balancer) address() string { return b.listener.Addr().String() }

func (b *balancer) serve() {
	for {
		conn, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		back, err := net.Dial("tcp", b.to)
		if err != nil {
			conn.Close()
			b.mu.Unlock()
			continue
		}
		b.conns = append(b.conns, conn, back)
		b.mu.Unlock()
		go func() { _, _ = io.Copy(b.unlessFrozen(back), conn) }()
		go func() { _, _ = io.Copy(b.unlessFrozen(conn), back) }()
	}
}

// unlessFrozen drops the data while the balancer is frozen.
func (b *balancer) unlessFrozen(w io.Writer) io.Writer {
	return writes(func(p []byte) (int, error) {
		if b.frozen.Load() {
			return len(p), nil
		}
		return w.Write(p)
	})
}

type writes func([]byte) (int, error)

func (f writes) Write(p []byte) (int, error) { return f(p) }

// nextTo sends new connections to another server. Existing connections stay.
func (b *balancer) nextTo(to string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to = to
}

// sendTo closes all connections and sends new ones to another server.
func (b *balancer) sendTo(to string) {
	b.nextTo(to)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.conns {
		c.Close()
	}
	b.conns = nil
}
