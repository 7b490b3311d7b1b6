package settings

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

const (
	// The files are read in the order of their names, and a plain "=" in a later
	// one would take ours out of the list again.
	keyfile     = "/etc/NetworkManager/conf.d/zz-airgap.conf"
	keyfileUndo = host.UndoDir + "/networkmanager.json"
)

// NetworkManagerStep makes NetworkManager ignore the pods' interfaces: it would
// remove their addresses and routes. If it does not run and is not enabled, there
// is nothing to do. links are the pod network's interfaces, by
// name, or by the beginning of their names with a * behind it.
func NetworkManagerStep(m host.Machine, links []string) step.Step {
	n := networkManager{m, links}
	return step.Step{
		Name: "networkmanager", Title: "Keep NetworkManager off the pods' interfaces",
		Done: n.holds, Plan: n.plan, Run: n.yield, Undo: n.undo,
	}
}

type networkManager struct {
	m     host.Machine
	links []string
}

// keyfileRecord is the file from before, and whether NetworkManager has read
// ours: it does so only after a reload.
type keyfileRecord struct {
	Before host.Kept `json:"before"`
	Read   bool      `json:"read"`
}

// interfaces returns the interfaces of the pod network, and the host ends of the pods' interfaces.
func (n networkManager) interfaces() []string {
	return slices.Concat([]string{IPVSLink}, n.links, []string{"veth*"})
}

// text adds to the list: a plain "=" would replace the value of another file.
func (n networkManager) text() []byte {
	var names []string
	for _, name := range n.interfaces() {
		names = append(names, "interface-name:"+name)
	}
	return []byte("# Written by airgap: these belong to the pod network.\n[keyfile]\nunmanaged-devices+=" + strings.Join(names, ";") + "\n")
}

func (n networkManager) holds(ctx context.Context) (bool, error) {
	active, enabled, err := n.there(ctx)
	if err != nil || !active && !enabled {
		return true, err
	}
	if holds, err := host.FileMatches(n.m.Path(keyfile), n.text(), 0o644); err != nil || !holds {
		return false, err
	}
	if !active {
		return true, nil
	}
	record, err := host.ReadJSON[keyfileRecord](n.m.Path(keyfileUndo))
	if err != nil || !record.Read {
		return false, err
	}
	managed, err := n.managed(ctx)
	return len(managed) == 0, err
}

func (n networkManager) there(ctx context.Context) (active, enabled bool, err error) {
	if active, err = n.m.UnitIs(ctx, "is-active", "NetworkManager"); err != nil {
		return false, false, err
	}
	enabled, err = n.m.UnitIs(ctx, "is-enabled", "NetworkManager")
	return active, enabled, err
}

// managed returns the interfaces of ours that NetworkManager manages.
func (n networkManager) managed(ctx context.Context) ([]string, error) {
	out, err := n.m.Host.Run(ctx, host.Cmd{Name: "nmcli", Args: []string{"--terse", "--fields", "DEVICE,STATE", "device"}})
	if err != nil {
		return nil, fmt.Errorf("ask NetworkManager for its devices: %w", err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		name, state, _ := strings.Cut(strings.TrimSpace(line), ":")
		ours := slices.ContainsFunc(n.interfaces(), IsNamed(name))
		if ours && state != "unmanaged" {
			found = append(found, name)
		}
	}
	return found, nil
}

func (n networkManager) plan(ctx context.Context) ([]string, error) {
	changes, err := host.PlanFiles(map[string][]byte{n.m.Path(keyfile): n.text()}, 0o644)
	if err != nil {
		return changes, err
	}
	active, _, err := n.there(ctx)
	if active {
		changes = append(changes, "reload NetworkManager's configuration")
	}
	return changes, err
}

func (n networkManager) yield(ctx context.Context) error {
	record, err := host.ReadJSON[keyfileRecord](n.m.Path(keyfileUndo))
	if err != nil {
		return err
	}
	if !n.m.Recorded(keyfileUndo) {
		if record.Before, err = n.m.Keep(keyfile); err != nil {
			return err
		}
	}
	record.Read = false
	if err := host.WriteJSON(n.m.Path(keyfileUndo), record); err != nil {
		return err
	}
	if err := host.WriteFile(n.m.Path(keyfile), n.text(), 0o644); err != nil {
		return err
	}
	if err := n.reload(ctx); err != nil {
		return err
	}
	record.Read = true
	return host.WriteJSON(n.m.Path(keyfileUndo), record)
}

// reload reloads the configuration; connections and name servers stay.
func (n networkManager) reload(ctx context.Context) error {
	active, _, err := n.there(ctx)
	if err != nil || !active {
		return err
	}
	if err := n.m.Run(ctx, "nmcli", "general", "reload", "conf"); err != nil {
		return fmt.Errorf("reload NetworkManager's configuration: %w", err)
	}
	return nil
}

func (n networkManager) undo(ctx context.Context) error {
	if !n.m.Recorded(keyfileUndo) {
		return nil
	}
	record, err := host.ReadJSON[keyfileRecord](n.m.Path(keyfileUndo))
	if err != nil {
		return err
	}
	if err := n.m.RestoreKept(keyfile, record.Before); err != nil {
		return err
	}
	if err := n.reload(ctx); err != nil {
		return err
	}
	return host.Remove(n.m.Path(keyfileUndo))
}

// IPVSLink is kube-proxy's in the mode ipvs.
const IPVSLink = "kube-ipvs0"

// IsNamed matches entries of Links with the name of an interface.
func IsNamed(link string) func(pattern string) bool {
	return func(pattern string) bool {
		beginning, wild := strings.CutSuffix(pattern, "*")
		return link == pattern || wild && strings.HasPrefix(link, beginning)
	}
}
