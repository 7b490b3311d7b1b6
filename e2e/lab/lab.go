// Package lab runs the servers of an air-gapped site on one Linux machine: hosts with real
// systemd, dnf and rpm that look like Rocky Linux. Their network has no route out and drops
// IP-in-IP. A host is a container, or an emulated machine with its own kernel: see Config.
//
// Up boots a lab from the layers and images of package root, Open opens it from another
// process, and Down removes it. Scenarios use only the Machine interface, and change the
// network through Network. All state of a lab is below CACHE/runs/RUN, and every kernel
// object of a lab has the run's name. So several labs can run at the same time, and a
// forgotten lab can be removed later.
//
// It needs root. It does not change the outer
// machine's network, packages or services.
package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/e2e/lab/room"
	"airgap.dev/airgap/e2e/lab/root"
)

// Config is the configuration of a lab.
type Config struct {
	Cache  string     `json:"-"` // see CacheDir
	Run    string     `json:"-"` // name of the lab: at most 20 lower-case letters, digits and dashes
	Nodes  []Kind     // node1, node2 and so on; 1 to 200 servers
	Layers []string   // from root.Build, for containers
	Image  root.Image // from root.BuildImage, for emulated machines
}

// A Lab is a set of servers on one network.
type Lab struct {
	Network  Network
	Machines []Machine

	cache, run string
}

// CacheDir returns $AIRGAP_LAB_CACHE, or ~/.cache/airgap-lab.
func CacheDir() (string, error) { return room.CacheDir() }

var runName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,19}$`)

// Up makes a lab and boots its servers: node1, node2 and so on, with the addresses
// 10.88.0.11, 10.88.0.12 and so on. After a failure it saves the logs and removes the lab,
// and the error contains the directory of the logs.
func Up(ctx context.Context, cfg Config) (*Lab, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("boot lab %q with %d servers: %w", cfg.Run, len(cfg.Nodes), err)
	}
	l, err := create(cfg)
	if err != nil {
		return nil, err
	}
	if err := l.boot(ctx); err != nil {
		logs, logErr := l.SaveLogs(context.WithoutCancel(ctx))
		downErr := l.Down(context.WithoutCancel(ctx))
		return nil, errors.Join(fmt.Errorf("boot lab %s (logs in %s): %w", cfg.Run, logs, err), logErr, downErr)
	}
	return l, nil
}

func (cfg Config) check() error {
	switch {
	case !runName.MatchString(cfg.Run):
		return errors.New("the name must have 1 to 20 lower-case letters, digits and dashes")
	case len(cfg.Nodes) < 1 || len(cfg.Nodes) > 200:
		return errors.New("a lab has 1 to 200 servers")
	case slices.ContainsFunc(cfg.Nodes, Kind.contained) && len(cfg.Layers) == 0:
		return errors.New("containers need the layers of root.Build")
	case slices.Contains(cfg.Nodes, KindEmulated) && cfg.Image == "":
		return errors.New("emulated machines need the image of root.BuildImage")
	}
	for _, kind := range cfg.Nodes {
		if !kind.contained() && kind != KindEmulated {
			return fmt.Errorf("unknown kind of server %q: use %s, %s, %s, %s or %s", kind, KindContainer, KindSmall, KindHopper, KindVolta, KindEmulated)
		}
	}
	return nil
}

// Open opens a running lab.
func Open(cache, run string) (*Lab, error) {
	data, err := os.ReadFile(filepath.Join(runDir(cache, run), "run.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open lab %s: it is not up: %w", run, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open lab %s: %w", run, err)
	}
	cfg := Config{Cache: cache, Run: run}
	if err := json.Unmarshal(data, &cfg); err != nil {
		return nil, fmt.Errorf("open lab %s: %w", run, err)
	}
	return assemble(cfg), nil
}

// Machine returns the server with this name.
func (l *Lab) Machine(name string) (Machine, error) {
	var names []string
	for _, m := range l.Machines {
		if m.Name() == name {
			return m, nil
		}
		names = append(names, m.Name())
	}
	return nil, fmt.Errorf("find server %q: lab %s has %s", name, l.run, strings.Join(names, ", "))
}

// Down removes the lab. It works in every state of the lab.
func (l *Lab) Down(ctx context.Context) error {
	unlock, err := lock(l.cache)
	if err != nil {
		return err
	}
	defer unlock()
	var errs []error
	for _, m := range l.Machines {
		errs = append(errs, m.Close(ctx))
	}
	errs = append(errs, l.Network.delete(ctx))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("take down lab %s: %w", l.run, err)
	}
	return removeRun(l.cache, l.run)
}

// SaveLogs copies the logs of all servers to CACHE/logs/RUN/NODE and returns
// the directory of the run.
func (l *Lab) SaveLogs(ctx context.Context) (string, error) {
	dir := filepath.Join(l.cache, "logs", l.run)
	errs := []error{os.RemoveAll(dir)}
	for _, m := range l.Machines {
		of := filepath.Join(dir, m.Name())
		errs = append(errs, saveConsole(filepath.Join(runDir(l.cache, l.run), m.Name()), of), saveLogs(ctx, m, of))
	}
	return dir, errors.Join(errs...)
}

func (l *Lab) boot(ctx context.Context) error {
	if err := l.Network.create(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, m := range l.Machines {
		g.Go(func() error { return m.Start(ctx) })
	}
	return g.Wait()
}

// assemble returns the Lab of a Config. It has no effect outside of the process.
func assemble(cfg Config) *Lab {
	l := &Lab{Network: Network{run: cfg.Run}, cache: cfg.Cache, run: cfg.Run}
	for i := range cfg.Nodes {
		l.Machines = append(l.Machines, cfg.machine(i, l.Network))
	}
	return l
}

func nodeName(i int) string { return fmt.Sprintf("node%d", i+1) }

func hostsFile(nodes int) string {
	var b strings.Builder
	line := func(addr netip.Addr, names ...string) { fmt.Fprintf(&b, "%s %s\n", addr, strings.Join(names, " ")) }
	line(netip.MustParseAddr("127.0.0.1"), "localhost", "localhost.localdomain")
	line(netip.IPv6Loopback(), "localhost", "localhost.localdomain")
	for i := range nodes {
		line(nodeAddr(i), nodeName(i)+".bank.example", nodeName(i))
	}
	return b.String()
}
