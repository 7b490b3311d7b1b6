// Package scenario is what the lab proves: whole jobs, done with the real
// program on real servers, and every wrong input that must not do harm.
//
// A scenario gets an Env: the built program, the running upstream, a work
// directory, and servers on request. It fails with the first thing that is
// not as it should be; the servers' logs are kept then. On success nothing is
// left behind.
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
	"airgap.dev/airgap/e2e/lab/root"
	"airgap.dev/airgap/e2e/secrets"
	"airgap.dev/airgap/e2e/upstream"
)

// Scenario is one job to prove.
type Scenario struct {
	Name, Title string
	Run         func(ctx context.Context, e *Env) error
	Needs       []Need // none where any host will do, also one of others
}

// Env is what a scenario works with.
type Env struct {
	Program  string // the airgap binary; airgap-nvml and airgap-probe lie beside it
	Cache    string
	Work     string // a directory of this run, removed after success
	Upstream *upstream.Server
	Log      io.Writer
	Terminal bool // commands draw on the terminal: the demo

	run string // name of the lab

	hosts *lab.Hosts // those of others that it runs on; nil in the lab

	PusherPassword string // of the site's user for the registries

	Book     *secrets.Book  // what must be nowhere but where it belongs
	Rules    []secrets.Rule // where this scenario's servers have some, beside the usual places
	said     []reply        // of commands
	saidLock sync.Mutex
}

// Run runs one scenario from preparation to the last trace removed.
func Run(ctx context.Context, s Scenario, program string, log io.Writer, terminal bool) error {
	e, err := Prepared(ctx, s.Name, program, log)
	if err != nil {
		return fmt.Errorf("prepare %s: %w", s.Name, err)
	}
	e.Terminal = terminal
	defer e.Upstream.Close()
	return e.prove(ctx, s)
}

// prove runs a scenario, and leaves nothing behind on this machine when it passes.
func (e *Env) prove(ctx context.Context, s Scenario) error {
	began := time.Now()
	if err := s.Run(ctx, e); err != nil {
		return fmt.Errorf("scenario %s after %.0f s (work kept in %s): %w", s.Name, time.Since(began).Seconds(), e.Work, err)
	}
	fmt.Fprintf(e.Log, "PASS %s in %.1f s\n", s.Name, time.Since(began).Seconds())
	return os.RemoveAll(e.Work)
}

// Part is a piece of a scenario, with its name for people.
type Part struct {
	Title string
	Run   func() error // nil where it is left out
}

// Helper is a program that lies beside airgap, and that airgap.rpm takes along.
func (e *Env) Helper(name string) string { return filepath.Join(filepath.Dir(e.Program), name) }

// InOrder runs the parts and writes how long each took, up to the first that
// fails.
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

// Prepared is an Env for other packages: prepared, its work directory empty.
func Prepared(ctx context.Context, name, program string, log io.Writer) (*Env, error) {
	e, err := newEnv(name, program, log)
	if err != nil {
		return nil, err
	}
	if _, err := Prepare(ctx, log); err != nil {
		return nil, err
	}
	if e.Upstream, err = upstream.Serve(ctx, e.Cache, "127.0.0.1:0"); err != nil {
		return nil, err
	}
	return e, e.login()
}

// newEnv is an Env without upstream, its work directory empty.
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

// Prepare builds what every scenario needs, once: upstream, and meanwhile the
// disk of containers. That of emulated machines is built for the first who
// asks. Before any of it, it fails where this machine cannot carry the servers.
func Prepare(ctx context.Context, log io.Writer) (cache string, err error) {
	if err := kernel.Ready(ctx); err != nil {
		return "", err
	}
	if cache, err = lab.CacheDir(); err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(cache, "stages")); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(log, "The first time on this machine: Kubernetes, containerd and all else that an upstream has is built from source,\nabout twenty minutes on 2 cores. It stays in %s; later runs begin at once.\n", cache)
	}
	both := &shared{w: log}
	g, building := errgroup.WithContext(ctx)
	g.Go(func() error { return upstream.Build(building, cache, both) })
	g.Go(func() error { return root.BuildBase(building, cache, both) })
	if err := g.Wait(); err != nil {
		return "", err
	}
	servers := lab.Config{Cache: cache, Nodes: lab.KindContainer.Times(1)}
	return cache, servers.Build(ctx, log)
}

// shared is a writer for several at a time.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// Bank boots n containers for job: see BankOf.
func (e *Env) Bank(ctx context.Context, n int, job func(*lab.Lab) error) error {
	return e.BankOf(ctx, lab.KindContainer.Times(n), job)
}

// BankOf boots servers for job, looks for secrets everywhere after it, and takes
// the servers down. When job fails, or a secret is found, their logs are kept
// and the error says where.
func (e *Env) BankOf(ctx context.Context, nodes []lab.Kind, job func(*lab.Lab) error) error {
	if e.hosts != nil {
		return e.borrow(ctx, len(nodes), job)
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
			return err // left up for a look: go run ./cmd/lab --run NAME
		}
		if downErr := l.Down(context.WithoutCancel(ctx)); downErr != nil {
			fmt.Fprintln(e.Log, "take down:", downErr)
		}
		return err
	}
	return l.Down(ctx)
}
