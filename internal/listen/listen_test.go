package listen

import (
	"net"
	"syscall"
	"testing"
)

// elsewhere has the connections of 127.0.0.N come from 10.0.0.N.
type elsewhere struct{ net.Listener }

func (e elsewhere) Accept() (net.Conn, error) {
	conn, err := e.Listener.Accept()
	return far{conn}, err
}

type far struct{ net.Conn }

func (f far) RemoteAddr() net.Addr {
	at := *f.Conn.RemoteAddr().(*net.TCPAddr)
	at.IP = net.IPv4(10, 0, 0, at.IP[len(at.IP)-1])
	return &at
}

func TestPerAddress(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan string, 10)
	l := PerAddress(elsewhere{inner}, 2, func(from string) { refused <- from })
	defer l.Close()
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	dial := func(from string) net.Conn {
		t.Helper()
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := dialer.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	dial("127.0.0.1")
	dial("127.0.0.1")
	first, second := <-accepted, <-accepted
	for range 3 {
		if n, err := dial("127.0.0.1").Read(make([]byte, 1)); err == nil {
			t.Errorf("a third connection reads %d bytes", n)
		}
	}
	if from := <-refused; from != "10.0.0.1" || len(refused) > 0 {
		t.Errorf("refused %s, and %d more", from, len(refused))
	}
	dial("127.0.0.2")
	if other := <-accepted; Source(other.RemoteAddr().String()) != "10.0.0.2" {
		t.Errorf("accepted %s", other.RemoteAddr())
	}
	first.Close()
	first.Close() // gives one place back, not two
	dial("127.0.0.1")
	<-accepted
	if _, err := dial("127.0.0.1").Read(make([]byte, 1)); err == nil {
		t.Error("a place was given back twice")
	}
	second.Close()
}

func TestSource(t *testing.T) {
	for addr, want := range map[string]string{
		"10.0.0.1:99": "10.0.0.1", "[::ffff:10.0.0.1]:99": "10.0.0.1",
		"[2001:db8:1:2:3::4]:1": "2001:db8:1:2::/64", "[2001:db8:1:2:ffff::]:1": "2001:db8:1:2::/64", "[fe80::1%eth0]:1": "fe80::/64",
		"127.0.0.1:1": "localhost", "127.9.8.7:1": "localhost", "[::1]:1": "localhost", "[::ffff:127.0.0.2]:1": "localhost", "pipe": "pipe",
	} {
		if got := Source(addr); got != want {
			t.Errorf("Source(%s) = %s, want %s", addr, got, want)
		}
	}
}

// TestSocketOfConnection: the connection gives access to its socket, if the listener's own does.
func TestSocketOfConnection(t *testing.T) {
	for name, wrap := range map[string]func(net.Listener) net.Listener{
		"socket":    func(l net.Listener) net.Listener { return l },
		"no socket": func(l net.Listener) net.Listener { return elsewhere{l} },
	} {
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer inner.Close()
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		accepted, err := PerAddress(wrap(inner), 1, nil).Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer accepted.Close()
		socket, is := accepted.(syscall.Conn)
		if !is {
			t.Fatalf("%s: no access", name)
		}
		if _, err := socket.SyscallConn(); (err == nil) != (name == "socket") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
