package detach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"airgap.dev/airgap/internal/host"
)

// runDir has the sockets of the units, one for each running command. Only root can open it: output can contain
// join tokens.
const runDir = "/run/airgap-run"

func socketOf(m host.Machine, name string) string {
	return filepath.Join(m.Path(runDir), strings.ReplaceAll(name, " ", "-")+".sock")
}

const (
	requestLimit = 30 * time.Second // for the first client, which has just started the unit
	seenLimit    = 24 * time.Hour   // for a client that shows the result
)

// state is the first frame of a unit.
type state struct {
	Name  string
	Args  []string // empty before the request
	Dir   string
	Run   string // of the request; "" at a terminal
	Since time.Time
	Ended time.Time // zero while the command runs
	Code  int       // exit code, after the end
}

// unit is the process of a unit: it starts a command and shows it to clients.
type unit struct {
	program      string
	requestLimit time.Duration
	seenLimit    time.Duration

	mu        sync.Mutex
	state     state
	histories map[byte]*history
	clients   map[*viewer]bool
	process   *host.Process
	requests  chan *request
	running   chan struct{} // closed with the start, or without one
	seen      chan struct{} // closed after a client showed the result, or requested the end of the unit
	end       func()        // closes seen
}

// Serve is the main process of the unit of a command. It returns the exit code of the command.
func Serve(ctx context.Context, name string) (int, error) {
	program, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program: %w", err)
	}
	u := newUnit(program, name)
	return u.serve(ctx, host.Machine{Host: host.Local{}})
}

func newUnit(program, name string) *unit {
	u := &unit{program: program, requestLimit: requestLimit, seenLimit: seenLimit, state: state{Name: name},
		histories: map[byte]*history{}, clients: map[*viewer]bool{}, requests: make(chan *request, 1),
		running: make(chan struct{}), seen: make(chan struct{})}
	u.end = sync.OnceFunc(func() { close(u.seen) })
	return u
}

func (u *unit) serve(ctx context.Context, m host.Machine) (int, error) {
	l, err := listenAt(socketOf(m, u.state.Name))
	if err != nil {
		return 0, err
	}
	var clients sync.WaitGroup
	clients.Go(func() { u.accept(l, &clients) })
	code, err := u.work(ctx)
	l.Close()                     // and removes the socket
	_ = os.Remove(m.Path(runDir)) // unless another command runs
	u.disconnect()
	clients.Wait()
	return code, err
}

// listenTries is how often a unit that ends may remove the common directory before this unit's socket is in it.
const listenTries = 10

func listenAt(path string) (l net.Listener, err error) {
	for range listenTries {
		if l, err = listenOnce(path); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listen for clients: %w", err)
	}
	return l, nil
}

func listenOnce(path string) (net.Listener, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of a unit that was killed; systemd runs one
		return nil, err
	}
	return (&net.ListenConfig{}).Listen(context.Background(), "unix", path)
}

func (u *unit) accept(l net.Listener, clients *sync.WaitGroup) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		clients.Go(func() { u.client(conn) })
	}
}

// work runs the command of the first request, and waits until its result was shown.
func (u *unit) work(ctx context.Context) (int, error) {
	running := sync.OnceFunc(func() { close(u.running) })
	defer running()
	var r *request
	select {
	case r = <-u.requests:
	case <-ctx.Done():
		return 0, nil
	case <-time.After(u.requestLimit):
		return 0, fmt.Errorf("wait for the command to run: no request within %s", u.requestLimit)
	}
	p, err := u.run(r)
	u.process = p // read after running only
	running()
	code := 1
	if err == nil {
		stop := context.AfterFunc(ctx, func() { p.Signal(syscall.SIGTERM) })
		code = p.Wait()
		stop()
	} else {
		u.output(ttyFrame, []byte("airgap: error: "+err.Error()+"\n"))
	}
	u.ended(code)
	select {
	case <-u.seen:
	case <-ctx.Done():
	case <-time.After(u.seenLimit):
	}
	return code, nil
}
