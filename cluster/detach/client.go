package detach

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// connection is a connection to a unit, after its first frame.
type connection struct {
	net.Conn

	in    *bufio.Reader
	state state
}

const helloLimit = 5 * time.Second

func connect(path string) (*connection, error) {
	conn, err := (&net.Dialer{Timeout: helloLimit}).DialContext(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, in: bufio.NewReaderSize(conn, outputPart)}
	_ = c.SetReadDeadline(time.Now().Add(helloLimit))
	f, err := readFrame(c.in)
	if err == nil && f.kind != stateFrame {
		err = fmt.Errorf("unexpected frame %q", f.kind)
	}
	if err == nil {
		err = f.decode(&c.state)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	_ = c.SetReadDeadline(time.Time{})
	return c, nil
}

// connectAll connects to all units. A socket without a unit, which was killed, stays unused.
func connectAll(m host.Machine) (all []*connection) {
	paths, _ := filepath.Glob(filepath.Join(m.Path(runDir), "*.sock")) // the pattern is good
	for _, path := range paths {
		if conn, err := connect(path); err == nil {
			all = append(all, conn)
		}
	}
	return all
}

func (s state) String() string {
	return fmt.Sprintf("%s, since %s, in unit %s", commandLine(s.Args), at(s.Since), unitOf(s.Name))
}

// hint has the command that follows this one.
func (s state) hint(dir string) string {
	line := commandLine(s.Args)
	if s.Dir != dir {
		line = "cd " + ui.Quote(s.Dir) + " && " + line
	}
	return fmt.Sprintf("wait for it, or follow it with its own command: %s", line)
}

func commandLine(args []string) string {
	words := []string{"airgap"}
	for _, arg := range args {
		words = append(words, ui.Quote(arg))
	}
	return strings.Join(words, " ")
}

// follow shows the command until its end.
func (r *runner) follow(conn *connection) (Outcome, error) {
	defer conn.Close()
	stop, err := r.sendInput(conn)
	if err != nil {
		return Outcome{Ran: true}, err
	}
	defer stop()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	shown := make(chan result, 1)
	go func() { shown <- r.show(conn) }()
	for {
		select {
		case end := <-shown:
			if end.err != nil {
				return Outcome{Ran: true}, r.lost(conn, end.err)
			}
			_ = frame{seenFrame, nil}.write(conn)
			return Outcome{Ran: true, Code: end.code}, nil
		case s := <-signals:
			if s == syscall.SIGTERM || s == syscall.SIGHUP {
				return Outcome{Ran: true}, r.left(conn)
			}
			r.signal(conn, s)
		}
	}
}

// sendInput sends the keys of the terminal, or another standard input.
func (r *runner) sendInput(conn *connection) (stop func(), err error) {
	from, is := r.streams.In.(*os.File)
	if !is {
		return func() {}, frame{eofFrame, nil}.write(conn)
	}
	var sender sync.WaitGroup
	ended := make(chan struct{})
	restore := func() {}
	if terminal(from) == nil {
		sender.Go(func() { send(conn, from, inputFrame, ended) })
	} else if keyboard := r.streams.keyboard(); keyboard != nil {
		if restore, err = passKeys(keyboard); err != nil {
			return nil, fmt.Errorf("prepare the terminal: %w", err)
		}
		sender.Go(func() { send(conn, keyboard, keysFrame, ended) })
	}
	return func() {
		conn.Close() // which ends a blocked write
		close(ended)
		sender.Wait()
		restore()
	}, nil
}

func (r *runner) signal(conn *connection, s os.Signal) {
	f := frame{cancelFrame, nil}
	if s == syscall.SIGWINCH {
		f, _ = encoded(sizeFrame, r.streams.size())
	}
	_ = f.write(conn) // else the end of the connection shows
}

type result struct {
	code int
	err  error
}

// show writes the output of the command to the same streams.
func (r *runner) show(conn *connection) result {
	for {
		f, err := readFrame(conn.in)
		if err != nil {
			return result{err: err}
		}
		switch f.kind {
		case ttyFrame:
			_, err = r.streams.screen().Write(f.data)
		case stdoutFrame:
			_, err = r.streams.Out.Write(f.data)
		case stderrFrame:
			_, err = r.streams.Err.Write(f.data)
		case exitFrame:
			code, err := strconv.Atoi(string(f.data))
			return result{code, err}
		}
		if err != nil {
			return result{err: err}
		}
	}
}

// send passes on the input until its end, or until the command has ended.
func send(conn *connection, from *os.File, kind byte, ended <-chan struct{}) {
	part := make([]byte, outputPart)
	for awaitInput(from, ended) {
		n, err := from.Read(part)
		if n > 0 && (frame{kind, slices.Clone(part[:n])}).write(conn) != nil {
			return
		}
		if err != nil {
			if kind == inputFrame {
				_ = frame{eofFrame, nil}.write(conn)
			}
			return
		}
	}
}

const inputPause = 100 * time.Millisecond

// awaitInput polls: a read cannot be called off, and would take the next keys from the shell.
func awaitInput(from *os.File, ended <-chan struct{}) bool {
	for {
		select {
		case <-ended:
			return false
		default:
		}
		ready := []unix.PollFd{{Fd: int32(from.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, int(inputPause.Milliseconds()))
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return true
		}
	}
}

func (r *runner) left(conn *connection) error {
	return advice.Add(fmt.Errorf("the display of airgap %s ended; the command goes on in unit %s", conn.state.Name, unitOf(conn.state.Name)),
		"run the same command again to follow it, or systemctl stop %s to stop it", unitOf(conn.state.Name))
}

func (r *runner) lost(conn *connection, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it closed the connection")
	}
	return advice.Add(fmt.Errorf("follow unit %s: %w", unitOf(conn.state.Name), err),
		"run the same command again; journalctl --unit=%s shows why the unit ended", unitOf(conn.state.Name))
}
