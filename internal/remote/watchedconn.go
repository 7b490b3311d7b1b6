package remote

import (
	"errors"
	"net"
	"sync/atomic"
)

// watchedConn records that the other side ended the connection.
type watchedConn struct {
	net.Conn

	lost atomic.Bool
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		c.lost.Store(true)
	}
	return n, err
}
