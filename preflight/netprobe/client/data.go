package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	sent        = 64 << 10
	echoed      = 8 << 10 // of the path in the answer; web servers refuse longer ones
	maxReceived = 1 << 20
	// fullSize is a segment that small paths do not carry: the smallest one that IPv6 requires.
	fullSize = 1220
)

// answer sends a request without credentials. Each HTTP status is an answer.
func (p *probe) answer(ctx context.Context, encrypted bool) bool {
	path := "/"
	if p.Kind == API {
		path = "/version"
	}
	got, err := p.request(ctx, encrypted, http.MethodGet, path, nil)
	if err != nil {
		state := Failed
		if p.Kind == NodePort {
			state = Note
		}
		p.add("answer", state, "no HTTP answer: "+reason(err), "check the service behind "+p.dialed)
		return false
	}
	found := "HTTP " + got.status
	if server := got.header.Get("Server"); server != "" {
		found += ", " + server
	}
	if p.Kind == API && got.header.Get("Audit-Id") == "" {
		p.add("answer", Warn, found+"; without the Audit-Id of an API server", "check the address: another service can answer")
		return true
	}
	p.add("answer", OK, found, "")
	return true
}

// data sends 64 KiB, and requests an answer that repeats a long path. An API server does that if it
// allows anonymous requests.
func (p *probe) data(ctx context.Context, encrypted bool) {
	up, errUp := p.request(ctx, encrypted, http.MethodPost, "/version", strings.NewReader(strings.Repeat("a", sent)))
	down, errDown := p.request(ctx, encrypted, http.MethodGet, "/"+strings.Repeat("a", echoed), nil)
	fix := "ask the network team to allow full-size packets and ICMP type 3 between this machine and " + p.dialed
	switch {
	case ctx.Err() != nil:
	case up.tcp == nil:
		p.add("data", Failed, "a further connection failed: "+reason(errUp), "check the servers behind "+p.dialed+": one of them refuses connections")
	case down.tcp == nil:
		p.add("data", Failed, "a further connection failed: "+reason(errDown), "check the servers behind "+p.dialed+": one of them refuses connections")
	case up.left > 0:
		p.add("data", Failed, fmt.Sprintf("%d of %d KiB to the server are not acknowledged: large packets are lost", (up.left+1023)>>10, sent>>10), fix)
	case errUp != nil && timedOut(errUp):
		p.add("data", Failed, fmt.Sprintf("no answer to %d KiB, which the next device acknowledged: large packets are lost behind it", sent>>10), fix)
	case errDown != nil && timedOut(errDown):
		p.add("data", Failed, fmt.Sprintf("no answer to a request of %d KiB: large packets are lost", echoed>>10), fix)
	case up.status == "":
		p.add("data", Failed, fmt.Sprintf("the connection ended while %d KiB were sent: %s", sent>>10, reason(errUp)), "ask the network team for a device that ends connections with much data")
	case down.tcp.Rcv_mss < fullSize:
		p.add("data", OK, fmt.Sprintf("%d KiB arrive; the server has only small answers without credentials, the largest packet from it has %d bytes of data", sent>>10, down.tcp.Rcv_mss), "")
	default:
		p.add("data", OK, fmt.Sprintf("%d KiB arrive in packets of %d bytes; packets from the server have %d bytes", sent>>10, down.tcp.Snd_mss, down.tcp.Rcv_mss), "")
	}
}

// answered is the result of a request.
type answered struct {
	status string
	header http.Header
	tcp    *unix.TCPInfo
	left   int // bytes that the other end has not acknowledged
}

// request sends a request on a new connection, and reads the answer.
func (p *probe) request(ctx context.Context, encrypted bool, method, path string, body io.Reader) (got answered, err error) {
	conn, raw, err := p.open(ctx, encrypted, "http/1.1")
	if err != nil {
		return got, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(patience))
	r, err := http.NewRequestWithContext(ctx, method, "http://"+p.Address+path, body)
	if err != nil {
		return got, err
	}
	if err = r.Write(conn); err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) { // an answer can come before the end of the body
		var response *http.Response
		if response, err = http.ReadResponse(bufio.NewReader(conn), r); err == nil {
			got.status, got.header = response.Status, response.Header
			_, err = io.Copy(io.Discard, io.LimitReader(response.Body, maxReceived))
			response.Body.Close()
		}
	}
	if err != nil && timedOut(err) {
		got.left = unacked(raw)
	}
	got.tcp = info(raw)
	return got, err
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// unacked is the number of bytes in the queue of a connection.
func unacked(conn net.Conn) (queued int) {
	of, is := conn.(syscall.Conn)
	if !is {
		return 0
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { queued, _ = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) })
	return queued
}
