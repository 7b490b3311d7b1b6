package join

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// silent returns an address that drops SYN packets, as a packet filter does: its queue of connections is full.
func silent(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	bound, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(bound.(*syscall.SockaddrInet4).Port))
	for range 4 {
		conn, err := net.DialTimeout("tcp4", address, time.Second)
		if err != nil {
			return address
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("the queue of connections is not full")
	return ""
}

// TestClosedWay: a closed port of a host that answers on another one is reported after two dials, in parallel with
// the others. A host that answers nowhere can be down, and one that refuses can restart: they have the whole time.
func TestClosedWay(t *testing.T) {
	t.Parallel()
	open := served(t, func(net.Conn) {})
	closed := silent(t)
	var ways []way
	for _, port := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"} { // more than 16
		ways = append(ways, way{program: port, host: "w1", address: closed, protocol: "tcp"})
	}
	ways = append(ways, way{program: "kubelet", host: "w1", address: open, protocol: "tcp"})
	began := time.Now()
	lost := retry{pause: time.Millisecond, total: 10 * time.Minute}.tryAll(t.Context(), ways, func(lostWay) {})
	assert.Len(t, lost, len(ways)-1)
	assert.Less(t, time.Since(began), time.Minute, "two dials of %s", wayTimeout)
}

// TestDownNode: a host without an answer on any port has the whole time, in which the cluster reports it as not Ready.
func TestDownNode(t *testing.T) {
	t.Parallel()
	closed, began, total := silent(t), time.Now(), 3*wayTimeout
	ways := []way{{program: "kubelet", host: "w1", address: closed, protocol: "tcp"}, {program: "kubelet", host: "w2", address: served(t, func(net.Conn) {}), protocol: "tcp"}}
	lost := retry{pause: time.Millisecond, total: total}.tryAll(t.Context(), ways, func(lostWay) {})
	require.Len(t, lost, 1)
	assert.Equal(t, "w1", lost[0].way.host)
	assert.GreaterOrEqual(t, time.Since(began), total-time.Second)
}

// TestFinal has the failures that do not end by themselves.
func TestFinal(t *testing.T) {
	open := way{host: "cp1", address: served(t, func(net.Conn) {}), protocol: "tcp"}
	for name, test := range map[string]struct {
		err     error
		attempt int
		want    bool
	}{
		"a dropped SYN":                  {errNoAnswer, 2, true},
		"once":                           {errNoAnswer, 1, false},
		"a rejected SYN":                 {syscall.EHOSTUNREACH, 3, true},
		"a rejected SYN, twice":          {syscall.EHOSTUNREACH, 2, false},
		"its own packet filter":          {syscall.EPERM, 3, true},
		"a program that restarts":        {syscall.ECONNREFUSED, 9, false},
		"a busy program":                 {&wayError{"TLS", errNoAnswer}, 9, false},
		"a device that terminates TLS":   {&wayError{"TLS", &certificateError{syscall.EINVAL}}, 3, true},
		"a program that begins to serve": {&wayError{"TLS", &certificateError{syscall.EINVAL}}, 2, false},
	} {
		r := &trial{free: make(chan struct{}, 1), alive: map[string]way{"cp1": open}}
		assert.Equal(t, test.want, r.final(t.Context(), open, test.err, test.attempt), name)
		if errors.Is(test.err, errNoAnswer) || errors.Is(test.err, syscall.EHOSTUNREACH) {
			r.alive = map[string]way{"cp2": open}
			assert.False(t, r.final(t.Context(), open, test.err, test.attempt), "%s, and no port answers", name)
			r.alive = map[string]way{"cp1": {host: "cp1", address: "127.0.0.1:1", protocol: "tcp"}}
			assert.False(t, r.final(t.Context(), open, test.err, test.attempt), "%s, and the node went down", name)
		}
	}
}
