package remote

import (
	"context"
	"errors"
	"time"

	"golang.org/x/crypto/ssh"
)

// Client is a connection to a host. Several commands may run over it at the
// same time.
type Client struct {
	Host

	ByPassword bool              // the host accepted the password, and no key
	Doing      func(what string) // is called with the name of a wait that begins; nil: it is not called

	answer time.Duration // the limit of the login shell, and of sudo
	conn   *ssh.Client
	sudo   sudo
	gone   chan struct{}                          // closed when the connection has ended
	again  func(context.Context) (*Client, error) // another connection to the same host
}

// missed is how many signs of life may fail to come before a host counts as
// lost. TCP alone would take minutes to notice a power cut, or hours.
const missed = 3

func newClient(h Host, conn *ssh.Client, keepalive time.Duration) *Client {
	c := &Client{Host: h, conn: conn, gone: make(chan struct{})}
	go func() {
		_ = conn.Wait() // however it ended, it has
		close(c.gone)
	}()
	go c.keepAlive(keepalive)
	return c
}

// keepAlive asks for a sign of life until the connection ends, and ends it
// when none comes.
func (c *Client) keepAlive(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-c.gone:
			return
		case <-tick.C:
		}
		answered := make(chan struct{})
		go func() { // ends with the connection at the latest
			_, _, _ = c.conn.SendRequest("keepalive@openssh.com", true, nil) // a refusal is a sign of life too
			close(answered)
		}()
		select {
		case <-answered:
		case <-time.After(missed * every):
			c.conn.Close()
			return
		}
	}
}

// Gone is closed when the connection has ended.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// Close ends the connection and everything that runs over it.
func (c *Client) Close() error { return c.conn.Close() }

// session opens a session, and returns the function that ends it. A host with "MaxSessions 1" refuses a second session
// on one connection, so session opens another connection for it.
func (c *Client) session(ctx context.Context) (*ssh.Session, func(), error) {
	session, err := c.open(ctx)
	refused, is := errors.AsType[*ssh.OpenChannelError](err)
	if !is {
		return session, func() { _ = session.Close() }, err
	}
	other, err := c.again(ctx)
	if err != nil {
		return nil, nil, errors.Join(refused, err)
	}
	if session, err = other.open(ctx); err != nil {
		other.Close()
		return nil, nil, err
	}
	return session, func() { _ = session.Close(); other.Close() }, nil
}

// open opens a session on this connection. It ends if the host no longer answers.
func (c *Client) open(ctx context.Context) (*ssh.Session, error) {
	type opened struct {
		session *ssh.Session
		err     error
	}
	done := make(chan opened, 1)
	go func() { // ends with the connection at the latest
		s, err := c.conn.NewSession()
		done <- opened{s, err}
	}()
	select {
	case o := <-done:
		return o.session, o.err
	case <-ctx.Done():
		go func() { // no caller waits for it now
			if o := <-done; o.err == nil {
				o.session.Close()
			}
		}()
		return nil, ctx.Err()
	}
}
