package lab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// An sshHost runs commands on a host through SSH, as root. All commands share one
// connection. It connects at the first command, and again after a lost connection.
type sshHost struct {
	name   string // for errors
	addr   string // HOST:PORT
	sudo   bool   // the login user is not root
	dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	config func() (*ssh.ClientConfig, error) // pins the host key

	mu     sync.Mutex
	client *ssh.Client
}

const (
	connectTimeout = 20 * time.Second
	cancelGrace    = 10 * time.Second // between Cmd.Cancel and SIGKILL
)

// Exec runs a command like Machine.Exec.
func (h *sshHost) Exec(ctx context.Context, cmd Cmd) error {
	what := strings.Join(cmd.Args, " ") + " on " + h.name
	session, err := h.session(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer session.Close()
	tail := &tailWriter{max: 2 << 10}
	leader := &firstLine{rest: tail, whole: make(chan struct{})}
	if cmd.Stderr != nil {
		leader.rest = io.MultiWriter(cmd.Stderr, tail)
	}
	session.Stdout, session.Stderr = cmd.Stdout, leader
	if err := feed(session, cmd.Stdin); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := session.Start(h.asRoot(remoteLine(cmd))); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	ended := make(chan struct{})
	go func() {
		err = session.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		h.stop(leader, cmp.Or(cmd.Cancel, syscall.SIGKILL), ended)
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
	var exit *ssh.ExitError
	switch {
	case errors.As(err, &exit):
		return &ExitError{Machine: h.name, Args: cmd.Args, Code: exit.ExitStatus(), Stderr: tail.String()}
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// feed copies r to the session's stdin. The end of the session does not wait for the end
// of r.
func feed(session *ssh.Session, r io.Reader) error {
	if r == nil {
		return nil
	}
	stdin, err := session.StdinPipe()
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(stdin, r) // a command may read only a part
		stdin.Close()
	}()
	return nil
}

// remoteLine returns the shell line that runs cmd. It first prints its process group on
// stderr for kill, because OpenSSH does not forward signals to root's sessions.
func remoteLine(cmd Cmd) string {
	quoted := make([]string, 0, len(cmd.Args)+len(cmd.Env))
	for _, arg := range cmd.argv() {
		quoted = append(quoted, quote(arg))
	}
	return "echo $$ >&2; exec " + strings.Join(quoted, " ")
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// asRoot returns the command that runs a shell line as root. sudo's child gets a separate
// session, so that its PID is its process group.
func (h *sshHost) asRoot(line string) string {
	if !h.sudo {
		return line
	}
	return "sudo -n -- setsid --wait sh -c " + quote(line)
}

// stop sends a signal to a command's process group, and SIGKILL after cancelGrace.
func (h *sshHost) stop(leader *firstLine, signal syscall.Signal, ended <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*cancelGrace)
	defer cancel()
	select {
	case <-leader.whole:
	case <-ended:
		return
	case <-ctx.Done():
		return // the host does not answer
	}
	for _, s := range []syscall.Signal{signal, syscall.SIGKILL} {
		if err := h.kill(ctx, string(leader.line), s); err != nil {
			return // the command has ended, or the host does not answer
		}
		select {
		case <-ended:
			return
		case <-time.After(cancelGrace):
		}
	}
}

func (h *sshHost) kill(ctx context.Context, group string, s syscall.Signal) error {
	session, err := h.session(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	return session.Run(h.asRoot(fmt.Sprintf("kill -s %d -- -%s", s, group)))
}

// session opens a session on the existing connection, or on a new one.
func (h *sshHost) session(ctx context.Context) (*ssh.Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.client != nil {
		session, err := h.client.NewSession()
		var refused *ssh.OpenChannelError // too many at once: the connection is fine
		if err == nil || errors.As(err, &refused) {
			return session, err
		}
		h.client.Close()
		h.client = nil
	}
	client, err := h.connect(ctx)
	if err != nil {
		return nil, err
	}
	h.client = client
	return client.NewSession()
}

func (h *sshHost) connect(ctx context.Context) (*ssh.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	config, err := h.config()
	if err != nil {
		return nil, err
	}
	conn, err := h.dial(ctx, "tcp", h.addr)
	if err != nil {
		return nil, err
	}
	// The handshake has no context parameter.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	c, channels, requests, err := ssh.NewClientConn(conn, h.addr, config)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("log in at %s: %w", h.addr, cmp.Or(ctx.Err(), err))
	}
	return ssh.NewClient(c, channels, requests), nil
}

// disconnect closes the connection, for example after a power cut of the host.
func (h *sshHost) disconnect() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.client != nil {
		h.client.Close()
		h.client = nil
	}
}

// firstLine keeps the first line that is a number and passes all other lines to rest: sudo
// or a login script may print lines before it.
type firstLine struct {
	rest  io.Writer
	line  []byte        // without its line end; read it only after whole is closed
	whole chan struct{} // closed when the line is complete
}

func (f *firstLine) Write(p []byte) (int, error) {
	select {
	case <-f.whole:
		return f.rest.Write(p)
	default:
	}
	line, rest, found := bytes.Cut(p, []byte("\n"))
	f.line = append(f.line, line...)
	if !found {
		return len(p), nil
	}
	if _, err := strconv.Atoi(string(f.line)); err != nil {
		other := append(f.line, '\n')
		f.line = nil
		if _, err := f.rest.Write(other); err != nil {
			return 0, err
		}
		_, err := f.Write(rest)
		return len(p), err
	}
	close(f.whole)
	if _, err := f.rest.Write(rest); err != nil {
		return 0, err
	}
	return len(p), nil
}
