package porttest

import (
	"net"
	"strconv"
	"testing"
)

// TestReserve: two tests never share a port, and neither gets one that is in use
// or that an outgoing connection can get.
func TestReserve(t *testing.T) {
	var free string
	t.Run("held until the test ends", func(t *testing.T) {
		first := Reserve(t)
		free = Reserve(t)
		if first == free {
			t.Errorf("port %s twice", first)
		}
		if port, err := strconv.Atoi(free); err != nil || port >= outgoing(t) {
			t.Errorf("port %s, outgoing connections get those from %d", free, outgoing(t))
		}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:"+free)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for range 3 {
		if got := Reserve(t); got == free {
			t.Errorf("port %s, where a program listens", got)
		}
	}
}
