package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/e2e/execs"
	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/secrets"
)

// container is a server with a disk and processes that are visible from outside.
type container interface {
	lab.Machine
	Look(work func([]lab.Tree) error) error
	Root() string
	Processes() ([]int, error)
}

// A guard collects the secrets of a lab during a scenario, and searches all places for them
// at the end.
type guard struct {
	*Env
	lab     *lab.Lab
	servers []container   // visible from outside
	inside  []lab.Machine // all other servers
	watch   *lab.Watch
	control control

	mu      sync.Mutex
	started map[started]bool

	stop    context.CancelFunc
	stopped chan error
}

// started is an argument or a variable of a program.
type started struct {
	server, program string
	variable        bool // true: of its environment; false: an argument
	text            string
}

func (s started) String() string {
	if s.variable {
		return s.server + ": environment of " + s.program
	}
	return s.server + ": argument of " + s.program
}

// guarded runs a job on a lab, and checks that secrets are only in allowed places.
func (e *Env) guarded(ctx context.Context, l *lab.Lab, job func(*lab.Lab) error) error {
	g := &guard{Env: e, lab: l, started: map[started]bool{}, stopped: make(chan error, 1)}
	for _, m := range l.Machines {
		if c, ok := m.(container); ok {
			g.servers = append(g.servers, c)
		} else {
			g.inside = append(g.inside, m)
		}
	}
	if err := g.begin(ctx); err != nil {
		return err
	}
	err := job(l)
	programs, endErr := g.end()
	if err != nil || endErr != nil {
		return errors.Join(err, endErr)
	}
	return g.judge(ctx, programs)
}

func (g *guard) begin(ctx context.Context) (err error) {
	if g.watch, err = g.lab.Watch(g.recordExec); err != nil {
		return err
	}
	ctx, g.stop = context.WithCancel(ctx)
	go func() { g.stopped <- g.collect(ctx) }()
	if err := g.plantControl(ctx); err != nil {
		_, endErr := g.end()
		return errors.Join(err, endErr)
	}
	return nil
}

func (g *guard) end() (execs.Count, error) {
	g.stop()
	err := <-g.stopped
	programs, watchErr := g.watch.Close()
	return programs, errors.Join(err, watchErr)
}

// recordExec keeps a program's arguments and environment, each string once.
func (g *guard) recordExec(server string, e execs.Exec) {
	g.mu.Lock()
	defer g.mu.Unlock()
	program := ""
	if len(e.Args) > 0 {
		program = filepath.Base(e.Args[0])
	}
	for _, a := range e.Args {
		g.started[started{server, program, false, a}] = true
	}
	for _, v := range e.Env {
		g.started[started{server, program, true, v}] = true
	}
}

// collect periodically reads the directories with keys: some keys exist only for a moment,
// while a host joins.
func (g *guard) collect(ctx context.Context) error {
	c := &secrets.Collector{Book: g.Book}
	for n := 0; ; n++ {
		for _, m := range g.servers {
			if err := look(c, m, n%10 == 0); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// look reads the directory with short-lived keys, and with all also the other directories.
func look(c *secrets.Collector, m container, all bool) error {
	on := func(dir string) error { return c.Tree(m.Name(), filepath.Join(m.Root(), dir), dir) }
	if err := on("/etc/kubernetes"); err != nil || !all {
		return err
	}
	return errors.Join(on("/etc/airgap"), on("/root/.ssh"), m.Look(func(trees []lab.Tree) (err error) {
		for _, t := range trees {
			if t.Inner == "/var/lib/kubelet" {
				err = errors.Join(err, c.Tree(m.Name(), t.Outer, t.Inner))
			}
		}
		return err
	}))
}

// running records the arguments and environments of the running processes: of processes
// older than the watch, and process titles that have changed.
func (g *guard) running() error {
	for _, m := range g.servers {
		pids, err := m.Processes()
		if err != nil {
			return err
		}
		for _, pid := range pids {
			args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
			env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			g.recordExec(m.Name(), execs.Exec{Args: strings.Split(string(args), "\x00"), Env: strings.Split(string(env), "\x00")})
		}
	}
	return nil
}
