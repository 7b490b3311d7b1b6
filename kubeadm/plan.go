package kubeadm

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// What the steps would change, for --dry-run. Each function here belongs to
// the Run of one step and says the same.

func (m Machine) planModules(needed []kernelModule, text []byte) ([]string, error) {
	var changes []string
	for _, k := range needed {
		if !m.present(k) {
			changes = append(changes, "load kernel module "+k.name)
		}
	}
	file, err := host.PlanFiles(map[string][]byte{m.path(modulesFile): text}, 0o644)
	return append(changes, file...), err
}

// planSysctls lists a parameter whose module has yet to be loaded without the
// value that it will have then.
func (m Machine) planSysctls() ([]string, error) {
	var changes []string
	want := map[string]int{}
	for _, s := range NodeSysctls() {
		have, err := m.readSysctl(s.Key)
		switch {
		case host.IgnoreMissing(err) != nil:
			return changes, err
		case err != nil:
			want[s.Key] = s.Value
			changes = append(changes, fmt.Sprintf("%s → %d", s.Key, s.Value))
		case s.holds(have):
			want[s.Key] = have
		default:
			want[s.Key] = s.Value
			changes = append(changes, fmt.Sprintf("%s %d → %d", s.Key, have, s.Value))
		}
	}
	file, err := host.PlanFiles(map[string][]byte{m.path(SysctlFile): sysctlText(want)}, 0o644)
	return append(changes, file...), err
}

// plan names the releases that are unpacked, and on a host that has them the
// programs that are not as they were.
func (i installation) plan() ([]string, error) {
	m := i.m
	if err := m.refuseForeignRuntime(i.engine); err != nil {
		return nil, err
	}
	record, err := m.readInstalled()
	if err != nil {
		return nil, err
	}
	var changes []string
	for _, f := range i.files {
		if !slices.Contains(record.Releases, f.Name) {
			changes = append(changes, "unpack "+f.Name+" into "+BinDir)
		}
	}
	if len(changes) > 0 {
		return changes, nil
	}
	for name, want := range record.Files {
		have, err := host.SHA256(m.path(path.Join(BinDir, name)))
		switch {
		case host.IgnoreMissing(err) != nil:
			return changes, err
		case err != nil:
			changes = append(changes, "put back "+path.Join(BinDir, name)+" (missing)")
		case have != want:
			changes = append(changes, "put back "+path.Join(BinDir, name)+" (changed)")
		}
	}
	if _, err := os.Stat(m.path(stagingDir)); err == nil {
		changes = append(changes, "remove "+stagingDir+", which an interrupted run left")
	}
	slices.Sort(changes)
	return changes, nil
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
		at[s.m.path(name)] = data
	}
	changes, err := host.PlanFiles(at, 0o644)
	if err != nil {
		return changes, err
	}
	if s.stale(e, files) {
		changes = append(changes, "remove "+e.nvidia)
	}
	units, err := s.m.planUnit(ctx, e.name)
	return append(changes, units...), err
}

// planUnit is what enabling and restarting a unit changes.
func (m Machine) planUnit(ctx context.Context, unit string) ([]string, error) {
	enabled, err := m.unitIs(ctx, "is-enabled", unit)
	if err != nil {
		return nil, err
	}
	active, err := m.unitIs(ctx, "is-active", unit)
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

func (m Machine) planInit(c Config, n Node, f Facts) ([]string, error) {
	changes, err := m.planNode("init", fmt.Sprintf("Kubernetes %s, API server at %s", c.Tag(), c.ControlPlaneEndpoint))
	if err != nil || m.finished() {
		return changes, err
	}
	text, err := InitDocuments(c, n, f)
	if err != nil {
		return changes, err
	}
	file, err := host.PlanFiles(map[string][]byte{m.path(ConfigFile): text}, 0o600)
	return append(file, changes...), err
}

// planNode is what init and join change, by how far an earlier one came.
func (m Machine) planNode(verb, what string) ([]string, error) {
	s, err := m.state()
	if err != nil {
		return nil, err
	}
	switch s {
	case ended:
		return []string{"enable and start kubelet.service, and wait for the node"}, nil
	case began:
		return []string{"kubeadm reset: takes back the interrupted " + verb, "kubeadm " + verb + ": " + what}, nil
	default:
		if err := m.refuseForeignCluster(); err != nil {
			return nil, err
		}
		return []string{"enable kubelet.service", "kubeadm " + verb + ": " + what}, nil
	}
}

func (m Machine) finished() bool {
	s, err := m.state()
	return err == nil && s == ended
}

func (m Machine) planJoin(n Node, material JoinMaterial) ([]string, error) {
	return m.planNode("join", strings.TrimSpace(fmt.Sprintf("node %s, API server at %s", n.Name, material.APIServer)))
}
