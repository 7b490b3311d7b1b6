package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// jump is a jump host with its connections. All hosts behind it share the first connection. Another one follows only if
// the jump host refuses more channels on it. The jump host forwards bytes of an SSH session that it cannot read: the
// host behind it shows its own key.
type jump struct {
	host Host
	turn chan struct{} // of the goroutine that connects

	mu       sync.Mutex
	clients  []*Client
	password string // that the jump host accepted
	silent   int    // logins since then that ended without an answer to the password
	dropped  bool   // the password goes there no more
	failed   time.Time
	err      error // of the last login
}

const (
	maxJumpClients = 8
	// jumpPause is the time for which the error of a login answers all hosts behind the jump host: they come at the
	// same time, and a password counts there.
	jumpPause = 5 * time.Second
)

// jump returns the state of a jump host.
func (d *Dialer) jump(h Host) *jump {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.jumps == nil {
		d.jumps = map[string]*jump{}
	}
	j := d.jumps[h.ID()]
	if j == nil {
		j = &jump{host: h, turn: make(chan struct{}, 1)}
		d.jumps[h.ID()] = j
	}
	return j
}

// EnterJump logs in on a jump host with the password if it requires one. Hosts behind it then use this connection. It
// reports whether the jump host accepted the password.
func (d *Dialer) EnterJump(ctx context.Context, h Host, password string) (byPassword bool, err error) {
	j := d.jump(h)
	if err := j.wait(ctx); err != nil {
		return false, err
	}
	defer j.done()
	if open := j.alive(); len(open) > 0 {
		return open[0].ByPassword, nil
	}
	c, err := d.Dial(ctx, h, password)
	if err != nil {
		return false, err
	}
	if c.ByPassword {
		j.password, j.dropped = password, false
	}
	j.add(c)
	return c.ByPassword, nil
}

func (j *jump) wait(ctx context.Context) error {
	select {
	case j.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (j *jump) done() { <-j.turn }

// alive returns the connections that have not ended.
func (j *jump) alive() []*Client {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.clients = slices.DeleteFunc(j.clients, func(c *Client) bool {
		select {
		case <-c.gone:
			return true
		default:
			return false
		}
	})
	return slices.Clone(j.clients)
}

func (j *jump) add(c *Client) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.clients, j.err = append(j.clients, c), nil
}

// connect opens a connection to h through its jump host.
func (d *Dialer) connectThrough(ctx context.Context, h Host) (net.Conn, error) {
	j := d.jump(*h.Via)
	for tried := 0; ; {
		open := j.alive()
		for _, c := range open[min(tried, len(open)):] {
			conn, err := c.conn.DialContext(ctx, "tcp", h.Addr())
			if err == nil {
				return conn, nil
			}
			refused, is := errors.AsType[*ssh.OpenChannelError](err)
			if is && refused.Reason == ssh.ResourceShortage && len(open) < maxJumpClients {
				continue
			}
			return nil, &JumpError{Host: h, Jump: *h.Via, Err: causeOf(ctx, err), refused: refused}
		}
		tried = len(open)
		if err := d.another(ctx, j, tried); err != nil {
			return nil, &JumpError{Host: h, Jump: *h.Via, Err: err, login: true, final: final(err) || j.isDropped()}
		}
	}
}

func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// another logs in on the jump host once more if it still has only as many connections.
func (d *Dialer) another(ctx context.Context, j *jump, have int) error {
	if err := j.wait(ctx); err != nil {
		return err
	}
	defer j.done()
	if len(j.alive()) > have {
		return nil
	}
	if j.err != nil && time.Since(j.failed) < jumpPause {
		return j.err
	}
	c, err := d.Dial(ctx, j.host, j.password)
	if err == nil {
		j.silent = 0
		j.add(c)
		return nil
	}
	if ctx.Err() == nil {
		j.err, j.failed = err, time.Now()
	}
	j.judge(err)
	return err
}

// maxSilent is how often a jump host may end a login after the password: it may count the password as wrong, or boot.
const maxSilent = 2

// judge forgets a password that the jump host refuses.
func (j *jump) judge(err error) {
	refused, is := errors.AsType[*PasswordError](err)
	_, ended := errors.AsType[*EndedError](err)
	_, demands := errors.AsType[*DemandError](err)
	if ended {
		j.silent++
	}
	if is && refused.Refused || demands || j.silent >= maxSilent {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.dropped, j.password = j.dropped || j.password != "", ""
	}
}

func (j *jump) isDropped() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dropped
}

// Close ends the connections to jump hosts.
func (d *Dialer) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jumps {
		for _, c := range j.alive() {
			c.Close()
		}
	}
}

// JumpError says that a host cannot be reached because of its jump host, or that the jump host cannot reach it. It wraps
// no other error: a password or a key that the jump host requires is not that of the host.
type JumpError struct {
	Host, Jump Host
	Err        error

	login   bool                  // the jump host did not let us in
	final   bool                  // and will not
	refused *ssh.OpenChannelError // the jump host did not open the connection; nil: another error
}

func (e *JumpError) Error() string {
	if e.login {
		return fmt.Sprintf("reach %s: its %s failed: %v", e.Host, e.Jump, e.Err)
	}
	return fmt.Sprintf("connect to %s through the %s: %v", e.Host, e.Jump, e.Err)
}

// Hint returns the next step.
func (e *JumpError) Hint() string {
	where := e.Jump.Name
	switch {
	case e.login:
		if h, is := errors.AsType[interface {
			error
			Hint() string
		}](e.Err); is {
			return h.Hint()
		}
		return ""
	case e.refused != nil && e.refused.Reason == ssh.Prohibited:
		return "sshd on " + where + " must forward connections for " + e.Jump.User + ": AllowTcpForwarding yes (or local), and " + e.Host.Addr() + " in PermitOpen if it is set"
	case e.refused != nil && e.refused.Reason == ssh.ResourceShortage:
		return "sshd on " + where + " forwards no more connections: read journalctl -u sshd there, or set a smaller ssh.parallel"
	}
	return "on " + where + ", this must succeed: ssh " + e.Host.User + "@" + e.Host.Address
}

// Final reports whether another attempt cannot succeed: the jump host shows another key, or has refused its password.
func (e *JumpError) Final() bool { return e.final }

func final(err error) bool {
	key, other := errors.AsType[*HostKeyError](err)
	password, refuses := errors.AsType[*PasswordError](err)
	_, demands := errors.AsType[*DemandError](err)
	return other && !key.Unknown() || refuses && password.Refused || demands
}
