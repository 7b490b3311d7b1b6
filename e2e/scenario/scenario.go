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

// All lists the scenarios in the order in which they are run.
func All() []Scenario {
	return []Scenario{
		{"journey", "bundle, two servers without a route, cluster, verdict", journey, nil},
		{"badinput", "every wrong input gives a clear error and changes nothing", badInput, []Need{needUpstream}},
		{"ctrl-c", "Ctrl-C in every step, and the same command goes on", ctrlC, nil},
		{"onetrip", "a frozen server of 600 packages gets just what it lacks, by its own dnf", oneTrip, []Need{needUpstream, needThrowaway}},
		{"reset", "a host after reset is the host before install, byte for byte", reset, []Need{needUpstream, needThrowaway}},
		{"gc", "a full disk, the kubelet deletes images, and all of them come back", gc, []Need{needUpstream, needDisk}},
		{"crio", "CRI-O as the runtime, beside a podman that stays as it is; reset", crio, []Need{needUpstream, needPower, needThrowaway}},
		{"containerd1", "Kubernetes 1.35 on containerd 1.7, whose configuration and pins are other ones", containerd1, []Need{needUpstream}},
		{"upgrade", "Kubernetes 1.35 to 1.36 and containerd 1.7 to 2.3 on five servers, killed on the way, under a workload that loses no request beyond its budget", upgrade, []Need{needUpstream, needNetwork, needMore}},
		{"rollback", "an upgrade that is killed in each of its phases is taken back; then it goes all the way", rollback, []Need{needUpstream}},
		{"minors", "Kubernetes 1.35 to 1.36 to 1.37, not two minors at once, and back from the last", minors, []Need{needUpstream}},
		{"conflict", "each runtime, from archive and package, beside a podman that stays as it is; not beside Docker's", conflict, []Need{needUpstream, needThrowaway}},
		{"gpu", "workers with cards: driver by RPM and by NVIDIA's installer, pods that have a card or a part of one, a card that fails", gpu, []Need{needCards, needUpstream, needPower}},
		{"network", "packets that the network between the servers loses are named; the pods take a way that is left", network, []Need{needNetwork, needMore}},
		{"verify", "two dozen faults, each named by the right rule while somebody watches; none where nothing is broken", verify, []Need{needUpstream, needNetwork, needMore}},
		{"existing", "a registry that the site has already is filled, and the servers pull from there", existing, []Need{needNetwork}},
		{"ha", "three control-plane hosts behind a balancer: any one dies, the first too; a cold start", ha, []Need{needPower, needNetwork, needMore}},
		{"restore", "a cluster that is lost with its hosts comes back from a backup; damaged backups are refused", restoreAll, []Need{needUpstream, needFresh}},
		{"restoreha", "of three control-plane hosts the second is restored, from the first one's backup, and the others join it", restoreElsewhere, []Need{needNetwork, needFresh, needMore}},
		{"grow", "hosts are added, replaced and removed, control-plane hosts too, while somebody counts etcd's members", grow, []Need{needPower, needNetwork, needMore}},
		{"crash", "kill -9 at random moments and after every step, power cuts: the same cluster", crash, []Need{needPower, needUpstream}},
		{"ssh", "one command does four servers through SSH, whatever stands in the way", throughSSH, []Need{needPower, needThrowaway, needMore}},
		{"hosts", "journey and ctrl-c once more, through plain SSH, on two servers that are nobody's: killed, taken back, done", onHosts, []Need{needFresh}},
		{"baseline", "encryption at rest with rotation, audit log, modes and flags of the CIS benchmark", baseline, []Need{needUpstream, needThrowaway}},
		{"attack", "the attacks of the threat table, on a running cluster: each is refused and named", attack, []Need{needUpstream, needThrowaway, needMore}},
		{"certs", "certificates listed, renewed, killed on the way; one that ends soon is named; etcd's authority replaced", certs, []Need{needUpstream}},
		{"certs-ha", "certificates of three control-plane hosts renewed, and each authority replaced, behind a balancer", certsHA, []Need{needNetwork, needMore}},
		{"stick", "a stick that is pulled, power cuts amid the copy and amid a pull: the store opens, and all is there", pulledStore, []Need{needEmulated}},
		{"sticks", "bundles on FAT32 and exFAT: hardly more bytes than they have; one is pulled", sticks, []Need{needEmulated}},
		{"ownworker", "an emulated worker: a clock that is hours or days off, swap, a power cut, reset", ownWorker, []Need{needEmulated}},
		{"cgroupv2", "an emulated server, product defaults: reboot, cgroup drivers that drift apart, an upgrade with a power cut in the middle", cgroupV2, []Need{needEmulated}},
		{"ownkernel", "an emulated server, product defaults, a pulled stick, a power cut", ownKernel, []Need{needEmulated}},
	}
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

	pusherPassword string // of the site's user for the registries

	book     *secrets.Book  // what must be nowhere but where it belongs
	rules    []secrets.Rule // where this scenario's servers have some, beside the usual places
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

// part is a piece of a scenario, with its name for people.
type part struct {
	title string
	run   func() error // nil where it is left out
}

// helper is a program that lies beside airgap, and that airgap.rpm takes along.
func (e *Env) helper(name string) string { return filepath.Join(filepath.Dir(e.Program), name) }

// inOrder runs the parts and writes how long each took, up to the first that
// fails.
func (e *Env) inOrder(parts []part) error {
	for _, p := range parts {
		if p.run == nil {
			fmt.Fprintf(e.Log, "%s: %s\n", e.run, p.title)
			continue
		}
		began := time.Now()
		if err := p.run(); err != nil {
			return fmt.Errorf("%s: %w", p.title, err)
		}
		fmt.Fprintf(e.Log, "%s: %-36s %6.1f s\n", e.run, p.title, time.Since(began).Seconds())
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
	e := &Env{Program: program, Cache: cache, Log: log, run: name, Work: filepath.Join(cache, "work", name), book: &secrets.Book{}}
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
