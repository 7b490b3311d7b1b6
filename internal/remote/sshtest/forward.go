package sshtest

import (
	"io"
	"net"
	"strconv"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Jump is a server as a jump host.
type Jump struct {
	// Forbid refuses all connections, as AllowTcpForwarding no does.
	Forbid bool
	// MaxChannels is how many connections one client may have at the same time; 0: any number.
	MaxChannels int

	mu     sync.Mutex
	to     []string // the targets, HOST:PORT
	passed []byte   // all bytes that went through to the hosts behind it
}

// Targets returns the connections that it opened, HOST:PORT.
func (j *Jump) Targets() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.to...)
}

// Passed returns the bytes that it could read on the way to the hosts behind it.
func (j *Jump) Passed() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return string(j.passed)
}

// Write records bytes on their way.
func (j *Jump) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.passed = append(j.passed, p...)
	return len(p), nil
}

// forward opens the connection of a direct-tcpip channel. open is how many the client has.
func (j *Jump) forward(c ssh.NewChannel, open int) {
	var to struct {
		Host       string
		Port       uint32
		Origin     string
		OriginPort uint32
	}
	if ssh.Unmarshal(c.ExtraData(), &to) != nil || j == nil || j.Forbid {
		_ = c.Reject(ssh.Prohibited, "open failed")
		return
	}
	if j.MaxChannels > 0 && open > j.MaxChannels {
		_ = c.Reject(ssh.ResourceShortage, "open failed")
		return
	}
	target := net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port)))
	far, err := net.Dial("tcp", target)
	if err != nil {
		_ = c.Reject(ssh.ConnectionFailed, "Connection refused")
		return
	}
	near, requests, err := c.Accept()
	if err != nil {
		far.Close()
		return
	}
	go ssh.DiscardRequests(requests)
	j.mu.Lock()
	j.to = append(j.to, target)
	j.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(io.MultiWriter(far, j), near); far.Close() })
	both.Go(func() { _, _ = io.Copy(near, far); near.Close() })
	both.Wait()
}
