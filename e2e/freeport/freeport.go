// Package freeport finds ports on loopback for programs that take a number and
// not a listener.
//
// An outgoing connection may get any port of the kernel's range
// (net.ipv4.ip_local_port_range, from 32768) at any time, so a port of that
// range can be lost between the search and the program's start. Next takes one
// below it, and each only once: measurements run alone on their machine.
package freeport

import (
	"errors"
	"net"
	"strconv"
	"sync/atomic"
)

const (
	begin = 20000
	end   = 32000
)

var taken atomic.Int32

// Next returns a port on which nothing listens at 127.0.0.1, and which no
// earlier call has returned.
func Next() (int, error) {
	for port := begin + int(taken.Add(1)); port < end; port = begin + int(taken.Add(1)) {
		if l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no free port is left below " + strconv.Itoa(end))
}
