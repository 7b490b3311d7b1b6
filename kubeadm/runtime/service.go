package runtime

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// appliedFile holds the hash of the files that the running runtime was
// started with, so that a cut between writing and restarting is noticed.
const appliedFile = host.StateDir + "/runtime.applied"

// runtimeUndo has the configuration that a package brought, in whose place ours comes.
const runtimeUndo = host.UndoDir + "/runtime.json"

// Options are what the runtime's configuration depends on.
type Options struct {
	Runtime Config
	Sandbox string   // image of every pod's sandbox
	Pinned  []string // images that image garbage collection must leave alone: those a node needs to come back at all
	Mirrors string   // file that says where images come from
	Facts   Facts
	// Foreign gives the packages of a name that are installed and that airgap did not
	// bring; not asked of an archive.
	Foreign func(ctx context.Context, name string) ([]string, error)
	NVIDIA  bool // pods may name a handler "nvidia", which runs them by nvidia-container-runtime
}

// ServiceStep configures the runtime, starts it, and waits for its socket.
func ServiceStep(m host.Machine, o Options) step.Step {
	s := service{m: m, options: o}
	return step.Step{
		Name: "runtime", Title: "Start " + o.Runtime.engine().title,
		Settle: 10 * time.Second,
		Done:   s.done, Plan: s.plan, Run: s.start, Undo: s.stop,
	}
}

type service struct {
	m       host.Machine
	options Options
}

// files are the service's files by path.
func (s service) files() (map[string][]byte, error) {
	e := s.options.Runtime.engine()
	files, err := e.files(s.options)
	if err != nil {
		return nil, err
	}
	files[e.unit] = []byte(ours + e.unitText)
	return files, nil
}

// hash is of all that a running runtime depends on.
func (s service) hash(files map[string][]byte) ([]byte, error) {
	e, r, hash := s.options.Runtime.engine(), s.options.Runtime, sha256.New()
	fmt.Fprintf(hash, "%s\n%s\n", r.Version, r.RuncVersion)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(hash, "%s\n", files[name])
	}
	for _, name := range e.readOnce(s.options.Mirrors) {
		info, err := os.Stat(s.m.Path(name))
		if err != nil {
			return nil, err
		}
		// One that was changed and put back may have been read in between.
		fmt.Fprintln(hash, info.Size(), info.ModTime().UnixNano())
	}
	return fmt.Appendf(nil, "%x\n", hash.Sum(nil)), nil
}

func (s service) done(ctx context.Context) (bool, error) {
	files, err := s.files()
	if err != nil {
		return false, err
	}
	if files[appliedFile], err = s.hash(files); err != nil {
		return false, host.IgnoreMissing(err)
	}
	for name, want := range files {
		if holds, err := host.Holds(s.m.Path(name), want, 0o644); err != nil || !holds {
			return false, err
		}
	}
	e := s.options.Runtime.engine()
	if s.stale(e, files) {
		return false, nil
	}
	runs, err := s.m.UnitRuns(ctx, e.name)
	return runs && answers(ctx, s.m, e), err
}

func (s service) start(ctx context.Context) error {
	e := s.options.Runtime.engine()
	if err := s.refuse(ctx, e); err != nil {
		return err
	}
	files, err := s.files()
	if err != nil {
		return err
	}
	hash, err := s.hash(files)
	if err != nil {
		return err
	}
	if err := s.keepConfig(e); err != nil {
		return err
	}
	if err := s.write(ctx, e, files); err != nil {
		return err
	}
	for _, args := range [][]string{{"daemon-reload"}, {"enable", e.name}, {"restart", e.name}} {
		if err := s.m.Run(ctx, "systemctl", args...); err != nil {
			return Explain(ctx, s.m, host.Failure{What: "start " + e.title, Err: err, Unit: e.name})
		}
	}
	if err := awaitSocket(ctx, s.m, e, 30*time.Second); err != nil {
		return Explain(ctx, s.m, host.Failure{What: "start " + e.title, Err: err, Unit: e.name})
	}
	if err := s.effective(ctx, e); err != nil {
		return err
	}
	return host.WriteFile(s.m.Path(appliedFile), hash, 0o644)
}

// refuse stops before a runtime of somebody else's is touched. A package that was there
// before airgap is such a one, whether anybody uses it or not: nobody can tell.
func (s service) refuse(ctx context.Context, e engine) error {
	if err := refuseForeignRuntime(s.m, e); err != nil {
		return err
	}
	if e.rpm == "" {
		return nil
	}
	foreign, err := s.options.Foreign(ctx, e.rpm)
	if err != nil || len(foreign) == 0 {
		return err
	}
	return &host.Failure{
		What: "configure " + e.title,
		Err:  fmt.Errorf("this host had %s before airgap came", strings.Join(foreign, ", ")),
		Next: "remove the package, and Docker with it where it belongs to Docker, survey the host and make the bundle again; or use another host",
	}
}

// keepConfig writes down what ours is going to replace, once.
func (s service) keepConfig(e engine) error {
	if s.m.Recorded(runtimeUndo) || isOurs(s.m, e.config) {
		return nil
	}
	before, err := s.m.Keep(e.config)
	if err != nil || before.Absent {
		return err
	}
	return host.WriteJSON(s.m.Path(runtimeUndo), map[string]host.Kept{e.config: before})
}

// effective wants our settings in force: the site's drop-ins, and its overrides, come
// after them. containerd 1.7 takes a drop-in's table of a plug-in instead of ours. A
// driver that somebody else has set is overruled; other mirrors are theirs to take back.
func (s service) effective(ctx context.Context, e engine) error {
	found, err := readEffective(ctx, s.m, e)
	if err != nil {
		return err
	}
	a := Agreement{Host: s.options.Facts.Driver, Runtime: found.Driver, Kubelet: s.options.Facts.Driver, Mirrors: found.Mirrors, engine: e}
	if a.Mirrors != e.mirrors {
		return &host.Failure{What: "configure " + e.title, Err: a.Err(), Next: "what a file of the site's in " + e.dropIns + " is to change belongs into runtime.overrides of airgap.yaml"}
	}
	_, err = overrule(ctx, s.m, e, a.Host)
	return err
}

// stop takes back whatever runtime of ours is there.
func (s service) stop(ctx context.Context) error {
	for _, e := range engines() {
		if err := stopEngine(ctx, s.m, e); err != nil {
			return err
		}
	}
	if err := putConfigBack(s.m); err != nil {
		return err
	}
	return errors.Join(host.Remove(s.m.Path(runtimeUndo)), host.Remove(s.m.Path(appliedFile)))
}

// putConfigBack leaves a file alone that somebody has put in the place of ours since.
func putConfigBack(m host.Machine) error {
	before, err := host.ReadJSON[map[string]host.Kept](m.Path(runtimeUndo))
	if err != nil {
		return err
	}
	for name, file := range before {
		if _, err := os.Stat(m.Path(name)); err == nil {
			continue
		}
		if err := m.PutBack(name, file); err != nil {
			return err
		}
	}
	return nil
}

func stopEngine(ctx context.Context, m host.Machine, e engine) error {
	// The unit may be all that was done: it need not have run.
	unit := isOurs(m, e.unit)
	if unit {
		if err := m.Run(ctx, "systemctl", "disable", "--now", e.name); err != nil {
			return fmt.Errorf("stop %s: %w", e.title, err)
		}
	}
	gone := slices.DeleteFunc([]string{e.unit, e.config, e.nvidia, e.driver}, func(name string) bool { return !isOurs(m, name) })
	for _, name := range append(gone, e.extra...) {
		if err := host.Remove(m.Path(name)); err != nil {
			return err
		}
	}
	if !unit {
		return nil
	}
	return m.Run(ctx, "systemctl", "daemon-reload")
}

// answers reports whether somebody listens on the runtime's socket.
func answers(ctx context.Context, m host.Machine, e engine) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", m.Path(e.socket))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func awaitSocket(ctx context.Context, m host.Machine, e engine, atMost time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	for !answers(ctx, m, e) {
		select {
		case <-ctx.Done():
			return errors.New("nobody listens on " + e.socket)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

func (s service) plan(ctx context.Context) ([]string, error) {
	e := s.options.Runtime.engine()
	if err := s.refuse(ctx, e); err != nil {
		return nil, err
	}
	files, err := s.files()
	if err != nil {
		return nil, err
	}
	at := map[string][]byte{}
	for name, data := range files {
		at[s.m.Path(name)] = data
	}
	changes, err := host.PlanFiles(at, 0o644)
	if err != nil {
		return changes, err
	}
	if s.stale(e, files) {
		changes = append(changes, "remove "+e.nvidia)
	}
	units, err := planUnit(ctx, s.m, e.name)
	return append(changes, units...), err
}

// planUnit is what enabling and restarting a unit changes.
func planUnit(ctx context.Context, m host.Machine, unit string) ([]string, error) {
	enabled, err := m.UnitIs(ctx, "is-enabled", unit)
	if err != nil {
		return nil, err
	}
	active, err := m.UnitIs(ctx, "is-active", unit)
	if err != nil {
		return nil, err
	}
	var changes []string
	if !enabled {
		changes = append(changes, "enable "+unit+".service")
	}
	if active {
		return append(changes, "restart "+unit+".service"), nil
	}
	return append(changes, "start "+unit+".service"), nil
}
