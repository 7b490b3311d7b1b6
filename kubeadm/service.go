package kubeadm

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
const appliedFile = stateDir + "/runtime.applied"

// runtimeUndo has the configuration that a package brought, in whose place ours comes.
const runtimeUndo = undoDir + "/runtime.json"

// RuntimeOptions are what the runtime's configuration depends on.
type RuntimeOptions struct {
	Runtime Runtime
	Sandbox string   // image of every pod's sandbox
	Pinned  []string // images that image garbage collection must leave alone: those a node needs to come back at all
	Mirrors string   // file that says where images come from
	Facts   Facts
	// Foreign gives the packages of a name that are installed and that airgap did not
	// bring; not asked of an archive.
	Foreign func(ctx context.Context, name string) ([]string, error)
	NVIDIA  bool // pods may name a handler "nvidia", which runs them by nvidia-container-runtime
}

// RuntimeService configures the runtime, starts it, and waits for its socket.
func RuntimeService(m Machine, o RuntimeOptions) step.Step {
	s := service{m: m, options: o}
	return step.Step{
		Name: "runtime", Title: "Start " + o.Runtime.engine().title,
		Settle: 10 * time.Second,
		Done:   s.done, Plan: s.plan, Run: s.start, Undo: s.stop,
	}
}

type service struct {
	m       Machine
	options RuntimeOptions
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
		info, err := os.Stat(s.m.path(name))
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
		if holds, err := host.Holds(s.m.path(name), want, 0o644); err != nil || !holds {
			return false, err
		}
	}
	e := s.options.Runtime.engine()
	if s.stale(e, files) {
		return false, nil
	}
	runs, err := s.m.unitRuns(ctx, e.name)
	return runs && s.m.answers(ctx, e), err
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
		if err := s.m.run(ctx, "systemctl", args...); err != nil {
			return s.m.explain(ctx, Failure{What: "start " + e.title, Err: err, unit: e.name})
		}
	}
	if err := s.m.awaitSocket(ctx, e, 30*time.Second); err != nil {
		return s.m.explain(ctx, Failure{What: "start " + e.title, Err: err, unit: e.name})
	}
	if err := s.effective(ctx, e); err != nil {
		return err
	}
	return host.WriteFile(s.m.path(appliedFile), hash, 0o644)
}

// refuse stops before a runtime of somebody else's is touched. A package that was there
// before airgap is such a one, whether anybody uses it or not: nobody can tell.
func (s service) refuse(ctx context.Context, e engine) error {
	if err := s.m.refuseForeignRuntime(e); err != nil {
		return err
	}
	if e.rpm == "" {
		return nil
	}
	foreign, err := s.options.Foreign(ctx, e.rpm)
	if err != nil || len(foreign) == 0 {
		return err
	}
	return &Failure{
		What: "configure " + e.title,
		Err:  fmt.Errorf("this host had %s before airgap came", strings.Join(foreign, ", ")),
		Next: "remove the package, and Docker with it where it belongs to Docker, survey the host and make the bundle again; or use another host",
	}
}

// keepConfig writes down what ours is going to replace, once.
func (s service) keepConfig(e engine) error {
	if s.m.recorded(runtimeUndo) || s.m.ours(e.config) {
		return nil
	}
	before, err := s.m.keep(e.config)
	if err != nil || before.Absent {
		return err
	}
	return host.WriteJSON(s.m.path(runtimeUndo), map[string]kept{e.config: before})
}

// effective wants our settings in force: the site's drop-ins, and its overrides, come
// after them. containerd 1.7 takes a drop-in's table of a plug-in instead of ours. A
// driver that somebody else has set is overruled; other mirrors are theirs to take back.
func (s service) effective(ctx context.Context, e engine) error {
	found, err := s.m.effective(ctx, e)
	if err != nil {
		return err
	}
	a := Agreement{Host: s.options.Facts.Driver, Runtime: found.Driver, Kubelet: s.options.Facts.Driver, Mirrors: found.Mirrors, engine: e}
	if a.Mirrors != e.mirrors {
		return &Failure{What: "configure " + e.title, Err: a.Err(), Next: "what a file of the site's in " + e.dropIns + " is to change belongs into runtime.overrides of airgap.yaml"}
	}
	_, err = s.m.overrule(ctx, e, a.Host)
	return err
}

// stop takes back whatever runtime of ours is there.
func (s service) stop(ctx context.Context) error {
	for _, e := range engines() {
		if err := s.m.stopEngine(ctx, e); err != nil {
			return err
		}
	}
	if err := s.m.putConfigBack(); err != nil {
		return err
	}
	return errors.Join(host.Remove(s.m.path(runtimeUndo)), host.Remove(s.m.path(appliedFile)))
}

// putConfigBack leaves a file alone that somebody has put in the place of ours since.
func (m Machine) putConfigBack() error {
	before, err := host.ReadJSON[map[string]kept](m.path(runtimeUndo))
	if err != nil {
		return err
	}
	for name, file := range before {
		if _, err := os.Stat(m.path(name)); err == nil {
			continue
		}
		if err := m.putBack(name, file); err != nil {
			return err
		}
	}
	return nil
}

func (m Machine) stopEngine(ctx context.Context, e engine) error {
	// The unit may be all that was done: it need not have run.
	unit := m.ours(e.unit)
	if unit {
		if err := m.run(ctx, "systemctl", "disable", "--now", e.name); err != nil {
			return fmt.Errorf("stop %s: %w", e.title, err)
		}
	}
	gone := slices.DeleteFunc([]string{e.unit, e.config, e.nvidia, e.driver}, func(name string) bool { return !m.ours(name) })
	for _, name := range append(gone, e.extra...) {
		if err := host.Remove(m.path(name)); err != nil {
			return err
		}
	}
	if !unit {
		return nil
	}
	return m.run(ctx, "systemctl", "daemon-reload")
}

// answers reports whether somebody listens on the runtime's socket.
func (m Machine) answers(ctx context.Context, e engine) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", m.path(e.socket))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func (m Machine) awaitSocket(ctx context.Context, e engine, atMost time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	for !m.answers(ctx, e) {
		select {
		case <-ctx.Done():
			return errors.New("nobody listens on " + e.socket)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}
