package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Command is a command for a host, run as root.
type Command struct {
	Args           []string  // program and arguments; never a secret
	Env            []string  // NAME=VALUE, in addition; never a secret
	Signal         string    // that ends the command with the context; "" is TERM
	Stdin          io.Reader // must end; nothing to read if nil
	Stdout, Stderr io.Writer // discarded when nil
}

const (
	stopTimeout = 5 * time.Second  // for telling a command to end
	stopGrace   = 15 * time.Second // for it to end: its own children have 10 s
)

// Run runs a command and waits for its end. One that is not content gives an
// *ExitError, a host that is gone ErrLost. When ctx ends the command is sent
// its signal, and Run waits for it, for a while.
func (c *Client) Run(ctx context.Context, cmd Command) error {
	err := c.run(ctx, c.sudo, cmd)
	if err == nil || errors.Is(err, ErrLost) || ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("run %s on %s: %w", strings.Join(cmd.Args, " "), c.Name, ctx.Err())
}

func (c *Client) run(ctx context.Context, as sudo, cmd Command) error {
	session, end, err := c.session(ctx)
	if err != nil {
		return c.lost(ctx, cmd, err)
	}
	defer end()
	tail, noise := &tail{max: 2 << 10}, &tail{max: 2 << 10}
	stdout, stderr := &valve{w: cmd.Stdout}, &valve{w: cmd.Stderr}
	defer stdout.shut()
	defer stderr.shut()
	told := io.MultiWriter(stderr, tail)
	output := &opening{mark: outputMark, before: noise, after: stdout, begun: make(chan struct{})}
	leader := &opening{mark: leaderMark, before: told, after: told, begun: make(chan struct{})}
	seen := &recorded{}
	session.Stdout, session.Stderr = io.MultiWriter(seen.on(&seen.stdout), output), io.MultiWriter(seen.on(&seen.stderr), leader)
	fed, err := feed(session, as.stdin(cmd))
	if err != nil {
		return c.lost(ctx, cmd, err)
	}
	if err := session.Start(loginLine); err != nil {
		return c.lost(ctx, cmd, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case err = <-fed: // its input cannot be read here: the command must not treat that as the end
		c.stop(as, cmd.Signal, leader, ended)
		return fmt.Errorf("send to %s: %w", c.Name, err)
	case <-ctx.Done():
		err := ctx.Err()
		if !c.stop(as, cmd.Signal, leader, ended) {
			err = fmt.Errorf("it did not end within %s after the signal: %w", stopGrace, err)
		}
		return fmt.Errorf("run %s on %s: %w", strings.Join(cmd.Args, " "), c.Name, err)
	}
	exit, is := errors.AsType[*ssh.ExitError](err)
	if why := seen.problem(as); why != "" && (err == nil || is) {
		return &RecorderError{Host: c.Host, why: why}
	}
	if (err == nil || is) && !leader.found() {
		leader.flush()
		output.flush()
		return as.refused(c.Host, exit, cmp.Or(tail.String(), noise.String()))
	}
	if is {
		return &ExitError{Host: c.Host, Args: cmd.Args, Code: exit.ExitStatus(), Tail: tail.String()}
	}
	return c.lost(ctx, cmd, err)
}

// lost returns the reason if a command did not end normally.
func (c *Client) lost(ctx context.Context, cmd Command, err error) error {
	if err == nil {
		return nil
	}
	if _, is := errors.AsType[*ssh.OpenChannelError](err); is {
		return &SessionError{Host: c.Host, Err: err}
	}
	return fmt.Errorf("run %s on %s: %w", strings.Join(cmd.Args, " "), c.Name, cmp.Or(ctx.Err(), ErrLost))
}

// feed writes r into the command's stdin and closes it. A command need not
// read all of it. An error of r is returned.
func feed(session *ssh.Session, r io.Reader) (<-chan error, error) {
	stdin, err := session.StdinPipe()
	if err != nil {
		return nil, err
	}
	broken := make(chan error, 1)
	go func() {
		source := &source{Reader: r}
		_, _ = io.Copy(stdin, source)
		if source.err != nil {
			broken <- source.err
			return
		}
		stdin.Close()
	}()
	return broken, nil
}

// source keeps the error that is not the end.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// stop ends a command: it signals the process and waits for a limited time. It
// returns false if the command goes on after that.
// OpenSSH passes no signals on to root's sessions, so kill has to.
func (c *Client) stop(as sudo, signal string, l *opening, ended <-chan error) bool {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	select {
	case <-l.begun:
	case <-ended:
		return true
	case <-time.After(stopTimeout):
		return true // it never began, or the host is gone
	}
	killing, done := context.WithTimeout(ctx, stopTimeout)
	defer done()
	go func() { _ = c.run(killing, as, Command{Args: []string{"kill", "-" + cmp.Or(signal, "TERM"), l.value}}) }()
	select {
	case <-ended:
	case <-c.gone:
	case <-ctx.Done():
		return false
	}
	return true
}
