package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"
)

// sshd ends a connection before its version line if it has too many logins in progress (MaxStartups), or if it penalizes
// the source of the connection (PerSourcePenalties). Neither says anything about the login, so airgap tries again, later
// each time, and not at the same time as the other hosts.
const (
	busyTries    = 6
	busyPause    = time.Second      // the first pause
	maxPause     = 30 * time.Second // the longest one
	shortPenalty = 15 * time.Second // sshd enforces no shorter penalty
)

// BusyError says that sshd ended the connection before the login began.
type BusyError struct {
	Host Host
	Said string // by sshd, in place of its version
	Err  error

	tries int
	took  time.Duration
}

func (e *BusyError) Error() string {
	text := fmt.Sprintf("connect to %s: sshd ended the connection before the login", e.Host)
	if e.tries > 1 {
		text += fmt.Sprintf(", %d times in %d s", e.tries, int(e.took.Seconds()))
	}
	return text + ": " + e.reason()
}

func (e *BusyError) Unwrap() error { return e.Err }

func (e *BusyError) reason() string {
	if said := lastLine(e.Said); said != "" {
		return said
	}
	return e.Err.Error()
}

// penalty reports whether sshd penalizes this host.
func (e *BusyError) penalty() bool {
	return strings.Contains(e.Said, "Not allowed at this time")
}

// Hint returns the next step.
func (e *BusyError) Hint() string {
	on := " on " + e.Host.Name
	switch {
	case e.penalty():
		return "sshd" + on + " penalizes this host after failed logins: wait some minutes and run the same command again, or add its address to PerSourcePenaltyExemptList in sshd_config" + on
	case strings.Contains(e.Said, "MaxStartups"):
		return "too many logins are in progress" + on + ": raise MaxStartups in its sshd_config, or set a smaller ssh.parallel in airgap.yaml"
	}
	return "read journalctl -u sshd" + on + ": MaxStartups, PerSourcePenalties, tcp_wrappers or a firewall such as fail2ban can end a connection"
}

// pause is the time before the next attempt. Its random part keeps many hosts apart.
func (e *BusyError) pause(n int, first time.Duration) time.Duration {
	pause := min(first<<n, maxPause)
	if e.penalty() && first == busyPause {
		pause = min(shortPenalty<<n, maxPause)
	}
	return pause/2 + rand.N(pause) //nolint:gosec // no secret
}

// patiently dials until sshd takes the connection, or a limit is reached.
func (d *Dialer) patiently(ctx context.Context, h Host, dial func() (*Client, error)) (*Client, error) {
	began := time.Now()
	for n := 0; ; n++ {
		c, err := dial()
		busy, is := errors.AsType[*BusyError](err)
		if !is {
			return c, err
		}
		busy.tries, busy.took = n+1, time.Since(began)
		if n+1 == busyTries {
			return nil, busy
		}
		if d.Doing != nil {
			d.Doing(h, fmt.Sprintf("sshd, which takes no login now (%s; attempt %d of %d)", busy.reason(), n+1, busyTries))
		}
		first := d.Pause
		if first == 0 {
			first = busyPause
		}
		select {
		case <-ctx.Done():
			return nil, busy
		case <-time.After(busy.pause(n, first)):
		}
	}
}

// turnedAway reports whether sshd ended a connection before its version line.
func (c *watchedConn) turnedAway(err error) bool {
	return !c.greeted && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE))
}
