package remote

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"sync/atomic"
)

// watchedConn records that the other side ended the connection, and the text before its version line.
type watchedConn struct {
	net.Conn

	lost    atomic.Bool
	greeted bool // it sent the beginning of its version line
	head    []byte
}

// maxHead is more text than a server sends before its version line.
const maxHead = 1 << 10

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.greeted {
		c.listen(p[:n])
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		c.lost.Store(true)
	}
	return n, err
}

// listen looks for the version line. The handshake reads it before it starts other goroutines.
func (c *watchedConn) listen(p []byte) {
	c.head = append(c.head, p...)
	c.greeted = bytes.HasPrefix(c.head, []byte("SSH-")) || bytes.Contains(c.head, []byte("\nSSH-")) || len(c.head) > maxHead
}

// said is the text before the version line.
func (c *watchedConn) said() string {
	return strings.TrimSpace(strings.ToValidUTF8(string(c.head), ""))
}
