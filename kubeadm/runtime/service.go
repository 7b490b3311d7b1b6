package runtime

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// appliedFile has the hash of the files with which the runtime has started. It detects an
// interruption between the write and the restart.
const appliedFile = host.StateDir + "/runtime.applied"

// runtimeUndo has the package's configuration that airgap replaces.
const runtimeUndo = host.UndoDir + "/runtime.json"

// Options are the inputs of the runtime's configuration.
type Options struct {
	Runtime Config
	Sandbox string   // sandbox image of pods
	Pinned  []string // images that a node needs to start again; image garbage collection must not delete them
	Mirrors string   // file with the registry mirrors
	Network []string // names of the files that the network plugins write to the runtime's network directory
	Facts   Facts
	// Foreign returns the installed packages of a name that airgap did not install. It is not
	// called for an archive.
	Foreign func(ctx context.Context, name string) ([]string, error)
	NVIDIA  bool // adds the handler "nvidia", which runs pods with nvidia-container-runtime
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

// files returns the service's files by path.
func (s service) files() (map[string][]byte, error) {
	e := s.options.Runtime.engine()
	files, err := e.files(s.options)
	if err != nil {
		return nil, err
	}
	files[e.unit] = []byte(ours + e.unitText)
	return files, nil
}

// hash covers all inputs of a running runtime.
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
		// Includes the time: the runtime may have read the file between a change and its revert.
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
		if holds, err := host.FileMatches(s.m.Path(name), want, 0o644); err != nil || !holds {
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
	if err := s.keepNetwork(e); err != nil { // before the runtime reads only the new directory
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

// refuse returns an error if the runtime does not belong to airgap. This includes a package that was
// installed before airgap, because airgap cannot know whether it is in use.
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
		Err:  fmt.Errorf("%s was installed on this host before airgap", strings.Join(foreign, ", ")),
		Next: "remove the package (and Docker, if the package belongs to it), run airgap survey and build the bundle again, or use another host",
	}
}

// keepConfig saves the configuration that airgap replaces, once.
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

// effective checks that airgap's settings are effective: the site's drop-ins and overrides come
// later, and in containerd 1.7 a drop-in replaces the whole table of a plugin. It overrides a
// foreign cgroup driver. Foreign mirrors and another network directory are errors that the operator
// must fix.
func (s service) effective(ctx context.Context, e engine) error {
	found, err := readEffective(ctx, s.m, e)
	if err != nil {
		return err
	}
	a := DriverCheck{Host: s.options.Facts.Driver, Runtime: found.Driver, Kubelet: s.options.Facts.Driver, Mirrors: found.Mirrors, engine: e}
	a.Network = found.Network
	switch {
	case a.Mirrors != e.mirrors:
		return &host.Failure{What: "configure " + e.title, Err: a.Err(), Next: "move the settings of the site's files in " + e.dropIns + " to runtime.overrides in airgap.yaml"}
	case a.Network != host.CNIDir:
		return &host.Failure{What: "configure " + e.title, Err: a.Err(), Next: "remove conf_dir or network_dir from the site's files in " + e.dropIns + ": the network plugins write only to " + host.CNIDir}
	}
	_, err = overrule(ctx, s.m, e, a.Host)
	return err
}

// stop removes every runtime that airgap has installed.
func (s service) stop(ctx context.Context) error {
	for _, e := range engines() {
		if err := stopEngine(ctx, s.m, e); err != nil {
			return err
		}
	}
	if err := restoreConfig(s.m); err != nil {
		return err
	}
	return errors.Join(host.Remove(s.m.Path(runtimeUndo)), host.Remove(s.m.Path(appliedFile)),
		host.Remove(s.m.Path(movedFile)), host.RemoveTree(s.m.Path(path.Dir(host.CNIDir))))
}

// restoreConfig restores the package's configuration, unless another file exists there now.
func restoreConfig(m host.Machine) error {
	before, err := host.ReadJSON[map[string]host.Kept](m.Path(runtimeUndo))
	if err != nil {
		return err
	}
	for name, file := range before {
		if _, err := os.Stat(m.Path(name)); err == nil {
			continue
		}
		if err := m.RestoreKept(name, file); err != nil {
			return err
		}
	}
	return nil
}

func stopEngine(ctx context.Context, m host.Machine, e engine) error {
	// After an interrupted installation the unit may exist without ever having run.
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

// answers reports whether a program listens on the runtime's socket.
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
			return errors.New("no program listens on " + e.socket)
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
	old, err := s.oldNetwork(e)
	if err != nil {
		return changes, err
	}
	for _, name := range slices.DeleteFunc(old, s.inOwnDirectory) {
		changes = append(changes, fmt.Sprintf("copy %s/%s to %s", host.SharedCNIDir, name, host.CNIDir))
	}
	units, err := planUnit(ctx, s.m, e.name)
	return append(changes, units...), err
}

// planUnit lists the changes when a unit is enabled and restarted.
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
