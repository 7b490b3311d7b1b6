// Package porttest reserves TCP ports for tests of programs that take a number
// and not a listener: etcd, kube-apiserver, a registry of another process.
//
// A port that was free a moment ago is not reserved: an outgoing connection or
// a listener on port 0 may get it first. Both get ports of the kernel's range
// only (net.ipv4.ip_local_port_range), so Reserve takes one below that range.
package porttest

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"
)

// lowest leaves the ports below it to the machine's own services.
const lowest = 10000

// Reserve returns a port on which nothing listens at 127.0.0.1. No other test
// of the machine gets it before this one ends: an abstract socket holds it.
func Reserve(t testing.TB) string {
	t.Helper()
	end := outgoing(t)
	for port := lowest; port < end; port++ {
		number := strconv.Itoa(port)
		held, err := net.Listen("unix", "@airgap-port-"+number)
		if err != nil {
			continue // another test has it
		}
		listener, err := net.Listen("tcp", "127.0.0.1:"+number)
		if err != nil {
			held.Close()
			continue // a program of the machine listens on it
		}
		listener.Close()
		t.Cleanup(func() { held.Close() })
		return number
	}
	t.Fatalf("no port is free between %d and %d", lowest, end)
	return ""
}

// outgoing returns the lowest port that an outgoing connection can get.
func outgoing(t testing.TB) int {
	t.Helper()
	data, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Fatal(err)
	}
	var first int
	if _, err := fmt.Sscan(string(data), &first); err != nil {
		t.Fatalf("read the range of outgoing ports: %v", err)
	}
	return first
}
