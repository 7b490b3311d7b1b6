// Package scenario contains the scenarios of the lab: complete workflows with the real
// program on servers with a real operating system, and wrong inputs that must change nothing.
//
// A scenario gets an Env: the built program, the running upstream, a work directory, and
// servers on request. It stops at the first failure and keeps the servers' logs. After
// success, it leaves no files and no servers.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/lab/kernel"
	"airgap.dev/airgap/e2e/lab/room"
	"airgap.dev/airgap/e2e/lab/root"
	"airgap.dev/airgap/e2e/secrets"
	"airgap.dev/airgap/e2e/upstream"
)

// Scenario is one workflow to test.
type Scenario struct {
	Name, Title string
	Run         func(ctx context.Context, e *Env) error
	Needs       []Need // empty if it also runs on foreign hosts
}

// Env is the environment of a scenario.
type Env struct {
	Program  string // the airgap binary; airgap-nvml and airgap-probe are in the same directory
	Cache    string
	Work     string // a directory of this run, removed after success
	Upstream *upstream.Server
	Log      io.Writer
	Terminal bool // commands draw on the terminal: the demo

	run string // name of the lab

	hosts *lab.Hosts // foreign hosts; nil in the lab

	PusherPassword string // of the site's user for the registries

	Book        *secrets.Book  // the secrets of the run, which must be only in allowed places
	Rules       []secrets.Rule // additional allowed places on this scenario's servers
	replies     []reply        // outputs of commands
	repliesLock sync.Mutex
}

// Run prepares and runs one scenario, and cleans up.
func Run(ctx context.Context, s Scenario, program string, log io.Writer, terminal bool) error {
	e, err := Prepared(ctx, s.Name, program, log)
	if err != nil {
		return fmt.Errorf("prepare %s: %w", s.Name, err)
	}
	e.Terminal = terminal
	defer e.Upstream.Close()
	return e.runScenario(ctx, s)
}

// runScenario runs a scenario, and removes the work directory after success.
func (e *Env) runScenario(ctx context.Context, s Scenario) error {
	began := time.Now()
	if err := s.Run(ctx, e); err != nil {
		return fmt.Errorf("scenario %s after %.0f s (work directory kept: %s): %w", s.Name, time.Since(began).Seconds(), e.Work, err)
	}
	fmt.Fprintf(e.Log, "PASS %s in %.1f s\n", s.Name, time.Since(began).Seconds())
	return os.RemoveAll(e.Work)
}

// Part is a part of a scenario, with a title for the log.
type Part struct {
	Title string
	Run   func() error // nil if the part is skipped
}

// Helper returns the path of a program next to airgap that airgap.rpm contains.
func (e *Env) Helper(name string) string { return filepath.Join(filepath.Dir(e.Program), name) }

// InOrder runs the parts in order and logs their durations. It stops at the first failure.
func (e *Env) InOrder(parts []Part) error {
	for _, p := range parts {
		if p.Run == nil {
			fmt.Fprintf(e.Log, "%s: %s\n", e.run, p.Title)
			continue
		}
		began := time.Now()
		if err := p.Run(); err != nil {
			return fmt.Errorf("%s: %w", p.Title, err)
		}
		fmt.Fprintf(e.Log, "%s: %-36s %6.1f s\n", e.run, p.Title, time.Since(began).Seconds())
	}
	return nil
}

// Prepared builds the lab's requirements, starts the upstream and returns an Env with an
// empty work directory.
func Prepared(ctx context.Context, name, program string, log io.Writer) (*Env, error) {
	return prepared(ctx, name, program, log, upstream.Build)
}

// builds is a function that builds the upstream.
type builds func(ctx context.Context, cache string, progress io.Writer) error

func prepared(ctx context.Context, name, program string, log io.Writer, build builds) (*Env, error) {
	e, err := newEnv(name, program, log)
	if err != nil {
		return nil, err
	}
	if _, err := prepare(ctx, log, build); err != nil {
		return nil, err
	}
	if e.Upstream, err = upstream.Serve(ctx, e.Cache, "127.0.0.1:0"); err != nil {
		return nil, err
	}
	return e, e.login()
}

// newEnv returns an Env without upstream, with an empty work directory.
func newEnv(name, program string, log io.Writer) (*Env, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("find the program (make build): %w", err)
	}
	cache, err := lab.CacheDir()
	if err != nil {
		return nil, err
	}
	e := &Env{Program: program, Cache: cache, Log: log, run: name, Work: filepath.Join(cache, "work", name), Book: &secrets.Book{}}
	return e, errors.Join(os.RemoveAll(e.Work), os.MkdirAll(e.Work, 0o755))
}

// Prepare builds the requirements of all scenarios once: the upstream, and in parallel the
// disk of containers. The first scenario with emulated machines builds their disk. Prepare
// first checks that this machine and its kernel support the servers.
func Prepare(ctx context.Context, log io.Writer) (cache string, err error) {
	return prepare(ctx, log, upstream.Build)
}

func prepare(ctx context.Context, log io.Writer, build builds) (cache string, err error) {
	if err := room.Ready(); err != nil {
		return "", err
	}
	if err := kernel.Ready(ctx); err != nil {
		return "", err
	}
	if cache, err = lab.CacheDir(); err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(cache, "stages")); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(log, "First run on this machine: building Kubernetes, containerd and the other components from source.\nThe result stays in %s; later runs start at once.\n", cache)
	}
	both := &lockedWriter{w: log}
	g, building := errgroup.WithContext(ctx)
	g.Go(func() error { return build(building, cache, both) })
	g.Go(func() error { return root.BuildBase(building, cache, both) })
	if err := g.Wait(); err != nil {
		return "", err
	}
	servers := lab.Config{Cache: cache, Nodes: lab.KindContainer.Times(1)}
	return cache, servers.Build(ctx, log)
}

// lockedWriter is a writer for several goroutines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *lockedWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// WithServers boots n containers for job: see WithServersOf.
func (e *Env) WithServers(ctx context.Context, n int, job func(*lab.Lab) error) error {
	return e.WithServersOf(ctx, lab.KindContainer.Times(n), job)
}

// WithServersOf boots servers for job, then searches for secrets and removes the servers. If job
// fails or a secret is in a wrong place, it saves the logs and the error contains their
// directory.
func (e *Env) WithServersOf(ctx context.Context, nodes []lab.Kind, job func(*lab.Lab) error) error {
	if e.hosts != nil {
		return e.onHosts(ctx, len(nodes), job)
	}
	if old, err := lab.Open(e.Cache, e.run); err == nil {
		if err := old.Down(ctx); err != nil {
			return err
		}
	}
	cfg := lab.Config{Cache: e.Cache, Run: e.run, Nodes: nodes}
	if err := cfg.Build(ctx, e.Log); err != nil {
		return err
	}
	began := time.Now()
	l, err := lab.Up(ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Log, "%d servers up in %.1f s\n", len(nodes), time.Since(began).Seconds())
	if err := e.guarded(ctx, l, job); err != nil {
		logs, logErr := l.SaveLogs(context.WithoutCancel(ctx))
		if logErr != nil {
			fmt.Fprintln(e.Log, "save logs:", logErr)
		}
		err = fmt.Errorf("%w\nlogs of the servers: %s", err, logs)
		if os.Getenv("AIRGAP_LAB_KEEP") != "" {
			return err // the servers keep running: go run ./cmd/lab --run NAME
		}
		if downErr := l.Down(context.WithoutCancel(ctx)); downErr != nil {
			fmt.Fprintln(e.Log, "take down:", downErr)
		}
		return err
	}
	return l.Down(ctx)
}
